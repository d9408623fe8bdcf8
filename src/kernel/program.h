// SPDX-License-Identifier: GPL-2.0-only
//
// Programs and system calls as coroutines.
//
// A Program is what a task does in user mode, top to bottom as the benchmark itself would be written:
//
//     Program bw_pipe_writer(Kernel &kernel, Pipe &data, u64 block) {
//         for (;;)
//             co_await write(data, block);
//     }
//
// It may await run(ns) (compute), sleep(ns), yield(), fork(...) and any system call. It ends at co_return.
//
// A Call<T> is kernel code running for the current task: a system call when a Program awaits it, a plain function
// when another Call does. Besides other calls it awaits spend(ns), kernel work that takes time and can be preempted,
// and block(), sleep until woken. Between two awaits it runs at one instant of simulated time, so it sees and leaves
// the kernel's state consistent, as if under the lock that the real code takes.
//
// Awaiting a Call from a Program charges the system call's cost at entry; at the return to user mode a pending lazy
// or full resched request is honoured (EEVDF-102).
//
// The first parameter of a Program or Call must be an object with `FramePool &frames()` (Kernel, Pipe, ...). Lambdas
// do not qualify. Coroutine parameters are copied into the frame: pass only references to objects that outlive it.
// g++ 12 destroys temporaries of aggregate types inside a co_await expression twice: give such an argument a name.
#pragma once

#include "base/types.h"
#include "kernel/frames.h"

#include <concepts>
#include <coroutine>
#include <utility>

namespace fairground::kernel {

class Kernel;
struct Thread;

// What a suspended program asks for; read by the kernel after each step.
enum class Request : u8 {
    user,        // `remaining` ns of user time
    kernel,      // `remaining` ns of kernel time
    spin,        // kernel time until a lock is handed over
    block,       // sleep until woken
    yield,       // sched_yield
    user_return, // a system call is done
    exit,        // the program has ended
};

struct Run {
    u64 ns;
};
struct Spend {
    u64 ns;
};
struct Spin {};
struct Block {};
struct Yield {};
struct Sleep {
    u64 ns;
};

// User mode.
inline Run run(u64 ns) { return {ns}; }
inline Sleep sleep(u64 ns) { return {ns}; } // nanosleep, 50 us slack for normal tasks (WAKER-62)
inline Yield yield() { return {}; }
// Kernel mode.
inline Spend spend(u64 ns) { return {ns}; }
inline Spin spin() { return {}; }
inline Block block() { return {}; }

template <class T>
concept HasFrames = requires(T &object) {
    { object.frames() } -> std::same_as<FramePool &>;
};

// Memory and the link to the task, common to Program and Call.
struct PromiseBase {
    Thread *thread = nullptr;
    std::coroutine_handle<> parent; // a Call's awaiter
    bool system_call = false;       // the awaiter is a Program

    template <HasFrames Owner, class... Rest> static void *operator new(std::size_t size, Owner &owner, Rest &...) {
        return owner.frames().take(size);
    }
    static void operator delete(void *frame) { FramePool::give(frame); }

    std::suspend_always initial_suspend() noexcept { return {}; }
    [[noreturn]] void unhandled_exception() { throw; } // out of Kernel::run_until

    // Leaves the request in the thread and returns to the event loop.
    struct Pause {
        Thread *thread;
        Request request;
        u64 ns;
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> here) const noexcept;
        void await_resume() const noexcept {}
    };
};

template <class T> struct CallResult {
    T value{};
    void return_value(T result) { value = std::move(result); }
    T take() { return std::move(value); }
};
template <> struct CallResult<void> {
    void return_void() {}
    void take() {}
};

void enter_call(Thread &thread, std::coroutine_handle<> body) noexcept; // user to kernel mode
void finish_call(PromiseBase &promise) noexcept;                        // back to the program

template <class T = void> class [[nodiscard]] Call {
  public:
    struct promise_type : PromiseBase, CallResult<T> {
        Call get_return_object() { return Call{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        struct Final {
            [[nodiscard]] bool await_ready() const noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> done) const noexcept {
                if (!done.promise().system_call)
                    return done.promise().parent;
                finish_call(done.promise());
                return std::noop_coroutine();
            }
            void await_resume() const noexcept {}
        };
        Final final_suspend() noexcept { return {}; }

        Pause await_transform(Spend s) { return {this->thread, Request::kernel, s.ns}; }
        Pause await_transform(Spin) { return {this->thread, Request::spin, 0}; }
        Pause await_transform(Block) { return {this->thread, Request::block, 0}; }
        Pause await_transform(Yield) { return {this->thread, Request::yield, 0}; }
        template <class U> auto await_transform(Call<U> &&call) {
            return typename Call<U>::Nested{std::move(call), this->thread};
        }
    };

    // co_await from another Call: a function call.
    struct Nested {
        Call call;
        Thread *thread;
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<> here) noexcept {
            call.handle_.promise().thread = thread;
            call.handle_.promise().parent = here;
            return call.handle_;
        }
        T await_resume() { return call.handle_.promise().take(); }
    };
    // co_await from a Program: a system call.
    struct System {
        Call call;
        Thread *thread;
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> here) noexcept {
            PromiseBase &promise = call.handle_.promise();
            promise.thread = thread;
            promise.parent = here;
            promise.system_call = true;
            enter_call(*thread, call.handle_);
        }
        T await_resume() { return call.handle_.promise().take(); }
    };

    explicit Call(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    Call(Call &&other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    Call &operator=(Call &&) = delete;
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;
    ~Call() {
        if (handle_)
            handle_.destroy();
    }

  private:
    std::coroutine_handle<promise_type> handle_;
};

class [[nodiscard]] Program {
  public:
    struct promise_type : PromiseBase {
        Program get_return_object() { return Program{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        Pause final_suspend() noexcept { return {thread, Request::exit, 0}; }
        void return_void() {}

        Pause await_transform(Run r) { return {thread, Request::user, r.ns}; }
        Call<>::System await_transform(Sleep s);
        Call<>::System await_transform(Yield);
        template <class T> auto await_transform(Call<T> &&call) {
            return typename Call<T>::System{std::move(call), thread};
        }
    };

    Program() = default;
    explicit Program(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    Program(Program &&other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    Program &operator=(Program &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    Program(const Program &) = delete;
    Program &operator=(const Program &) = delete;
    ~Program() {
        if (handle_)
            handle_.destroy();
    }

    [[nodiscard]] std::coroutine_handle<promise_type> handle() const { return handle_; }

  private:
    std::coroutine_handle<promise_type> handle_;
};

} // namespace fairground::kernel
