// SPDX-License-Identifier: GPL-2.0-only
//
// docs/model.md tells for every rule whether the model has it. What it calls done must be named in the code that does
// it and in a test that checks it.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace fairground {

namespace {

const std::filesystem::path root = FAIRGROUND_SOURCE_DIR;

std::string read(const std::filesystem::path &path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// All ids a text names, short forms included: "TOPO-24, -25", "TOPO-22..25".
void collect(const std::string &text, std::set<std::string> &ids) {
    static const std::regex mention("([A-Z]+-)([0-9]+)((?:(?:, -| and -|\\.\\.-?)[0-9]+)*)");
    static const std::regex more("(, -| and -|\\.\\.-?)([0-9]+)");
    for (std::sregex_iterator at(text.begin(), text.end(), mention), end; at != end; ++at) {
        const std::string prefix = (*at)[1];
        int last = std::stoi((*at)[2]);
        ids.insert(prefix + std::to_string(last));
        const std::string tail = (*at)[3];
        for (std::sregex_iterator part(tail.begin(), tail.end(), more); part != end; ++part) {
            const int number = std::stoi((*part)[2]);
            for (int i = (*part)[1].str().starts_with("..") ? last : number; i <= number; i++)
                ids.insert(prefix + std::to_string(i));
            last = number;
        }
    }
}

std::set<std::string> named_under(const char *folder) {
    std::set<std::string> ids;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(root / folder)) {
        const std::string extension = entry.path().extension();
        if (entry.path().filename() != "model_doc_test.cpp" &&
            (extension == ".cpp" || extension == ".h" || extension == ".def"))
            collect(read(entry.path()), ids);
    }
    return ids;
}

// Rows "| TOPO-30 | done | where | title |", id to state.
std::vector<std::pair<std::string, std::string>> rows() {
    std::vector<std::pair<std::string, std::string>> found;
    std::istringstream text(read(root / "docs/model.md"));
    static const std::regex row("^\\| ([A-Z]+-[0-9]+[a-z]?) \\| ([^|]*) \\| ([^|]*) \\| ([^|]+) \\|$");
    std::smatch match;
    for (std::string line; std::getline(text, line);)
        if (std::regex_match(line, match, row))
            found.emplace_back(match[1], match[2]);
    return found;
}

TEST(ModelDoc, IdsAreUniqueAndStatesKnown) {
    std::map<std::string, int> count;
    for (const auto &[id, state] : rows()) {
        EXPECT_EQ(++count[id], 1) << id << " is listed more than once";
        EXPECT_TRUE(state == "done" || state.starts_with("waits") || state.starts_with("out of scope"))
            << id << ": '" << state << "'";
    }
    for (const char *prefix :
         {"TOPO-", "EEVDF-", "PELT-", "PREEMPT-", "WAKE-", "LB-", "NUMAPAIR-", "NUMA-", "CG-", "SYNC-", "WAKER-"})
        EXPECT_TRUE(count.contains(std::string(prefix) + "1")) << prefix;
    EXPECT_GT(count.size(), 600U);
}

TEST(ModelDoc, DoneIsInCodeAndInTests) {
    const std::set<std::string> code = named_under("src");
    const std::set<std::string> tests = named_under("tests");
    int done = 0;
    for (const auto &[id, state] : rows()) {
        if (state != "done")
            continue;
        done++;
        EXPECT_TRUE(code.contains(id)) << id << " is called done, but no file under src/ names it";
        EXPECT_TRUE(tests.contains(id)) << id << " is called done, but no file under tests/ names it";
    }
    EXPECT_GT(done, 0);
}

} // namespace

} // namespace fairground
