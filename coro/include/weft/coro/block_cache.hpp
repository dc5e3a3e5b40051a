// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <type_traits>

namespace weft::coro::detail {

/// Memory of operations that are over, for those to come: each thread keeps what it has freed, up to a bound. (Asio's
/// own cache keeps two blocks of a thread, which is enough for operations that follow one another, and not for many at
/// once.) A block may be freed by another thread than the one that took it.
class block_cache {
 public:
  block_cache() = default;
  block_cache(const block_cache&) = delete;
  block_cache& operator=(const block_cache&) = delete;

  [[nodiscard]] static void* take(std::size_t bytes) {
    const std::size_t size_class = class_of(bytes);
    if (block_cache* cache = of_this_thread(); cache != nullptr && size_class < classes) {
      if (block* first = cache->shelves_[size_class]) {
        cache->shelves_[size_class] = first->next;
        cache->kept_bytes_ -= bytes_of(size_class);
        return first;
      }
    }
    return ::operator new(bytes_of(size_class));
  }

  static void give(void* memory, std::size_t bytes) noexcept {
    const std::size_t size_class = class_of(bytes);
    block_cache* cache = of_this_thread();
    if (cache == nullptr || size_class >= classes || cache->kept_bytes_ >= most_bytes) return ::operator delete(memory);
    cache->shelves_[size_class] = ::new (memory) block{cache->shelves_[size_class]};
    cache->kept_bytes_ += bytes_of(size_class);
  }

 private:
  struct block {
    block* next;
  };
  static constexpr std::size_t grain = 64;
  static constexpr std::size_t classes = 16;                       // up to 1 KiB
  static constexpr std::size_t most_bytes = std::size_t{4} << 20;  // of what is kept

  static std::size_t class_of(std::size_t bytes) noexcept { return (bytes - 1) / grain; }
  static std::size_t bytes_of(std::size_t size_class) noexcept { return (size_class + 1) * grain; }

  /// Null at the end of the thread, when its cache is gone and other objects of its are still being destroyed.
  static block_cache* of_this_thread() noexcept {
    thread_local bool is_gone = false;  // needs no destructor, and so outlives the one that does
    struct owner {
      block_cache cache;
      ~owner() { is_gone = true; }
    };
    if (is_gone) return nullptr;
    thread_local owner one;
    return &one.cache;
  }

  ~block_cache() {
    for (block*& shelf : shelves_)
      while (block* first = shelf) {
        shelf = first->next;
        ::operator delete(first);
      }
  }

  std::array<block*, classes> shelves_{};
  std::size_t kept_bytes_ = 0;
};

/// An allocator over it.
template <class T>
class cached_memory {
 public:
  using value_type = T;

  cached_memory() = default;
  template <class U>
  cached_memory(const cached_memory<U>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    return static_cast<T*>(block_cache::take(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) noexcept { block_cache::give(memory, count * sizeof(T)); }

  friend bool operator==(const cached_memory&, const cached_memory&) noexcept { return true; }
};
template <>
class cached_memory<void> {
 public:
  using value_type = void;
};

}  // namespace weft::coro::detail
