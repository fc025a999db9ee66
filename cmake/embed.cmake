# Writes OUTPUT, a C++ file that defines FUNCTION, declared in HEADER: the name and bytes of every file in FILES. NAMES is
# NAME for names with their extension, NAME_WE for names without.
set(entries "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} ${NAMES})
  file(READ ${file} hex HEX)
  string(LENGTH "${hex}" length)
  math(EXPR length "${length} / 2")
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${hex}")
  string(APPEND entries "    {\"${name}\", std::string_view(\"${bytes}\", ${length})},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"${HEADER}\"

namespace semfuse {
const std::vector<EmbeddedText>& ${FUNCTION}() {
  static const std::vector<EmbeddedText> texts = {
${entries}  };
  return texts;
}
}  // namespace semfuse
")
