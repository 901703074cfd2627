# Writes the commit of SOURCE as a C++ text into HEADER, if that changes it: "0123456789ab", with "-dirty" behind it when
# tracked files differ from the commit, or "unknown" where there is no git.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude *
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR NOT commit)
  set(commit unknown)
endif()
set(text "\"${commit}\"\n")
set(before "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${HEADER} ${text})
endif()
