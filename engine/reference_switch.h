// The switch is in engine/implementation.h.
#pragma once

#include "engine/implementation.h"
