// Points of execution with a stack of their own, for emulation.cpp alone.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#ifndef DV_OWN_SWITCH  // instead of ucontext's, which asks the kernel at every turn
#ifdef __x86_64__
#define DV_OWN_SWITCH 1
#else
#define DV_OWN_SWITCH 0
#endif
#endif
#if !DV_OWN_SWITCH
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace dv::cuda::emulation {
namespace {

constexpr size_t kStackBytes = 128 * 1024;

// A point of execution with a stack of its own.
#if DV_OWN_SWITCH
extern "C" void dv_switch_stack(void** from, void* to);
asm(R"(
.text
.p2align 4
.type dv_switch_stack, @function
dv_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

struct Context {
  void* stack_pointer = nullptr;

  void start(void* stack, size_t bytes, void (*entry)()) {
    auto* const top = reinterpret_cast<uint64_t*>(static_cast<char*>(stack) + bytes);
    uint64_t* at = top - 2;  // `ret` takes it from here, and leaves the stack as after a call
    at[0] = reinterpret_cast<uint64_t>(entry);
    at[1] = 0;
    at -= 6;
    std::fill(at, at + 6, 0);
    stack_pointer = at;
  }
  void go(Context& to) { dv_switch_stack(&stack_pointer, to.stack_pointer); }
};
#else
struct Context {
  ucontext_t context;

  void start(void* stack, size_t bytes, void (*entry)()) {
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = bytes;
    context.uc_link = nullptr;
    makecontext(&context, entry, 0);
  }
  void go(Context& to) { swapcontext(&context, &to.context); }
};
#endif

// Stacks are kept: the pages of a fresh one would have to be cleared first.
class Stacks {
 public:
  void* get(size_t index) {
    while (all_.size() <= index) {
      void* const made = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (made == MAP_FAILED) throw std::bad_alloc();
      all_.push_back(made);
    }
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(all_[index], kStackBytes);  // a launch that failed left its marks
#endif
    return all_[index];
  }

 private:
  std::vector<void*> all_;
};

}  // namespace
}  // namespace dv::cuda::emulation
