// Whether the line of a planted fault has run: attention_faults.toml puts REACHED() into it.
#pragma once

namespace sink::test {

void note_reached();
bool take_reached();  // since the last call

}  // namespace sink::test

#define REACHED() ::sink::test::note_reached()
