// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All of weft.
#include <weft/coro/sync_wait.hpp>
#include <weft/coro/task.hpp>
#include <weft/coro/when_all.hpp>
#include <weft/engine/communicator.hpp>
#include <weft/engine/device_buffer.hpp>
#include <weft/engine/engine.hpp>
#include <weft/engine/error.hpp>
#include <weft/engine/message.hpp>
#include <weft/engine/objects.hpp>
#include <weft/engine/options.hpp>
#include <weft/engine/run.hpp>
