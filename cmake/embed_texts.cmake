# Writes OUTPUT, a C++ file that defines FUNCTION, declared in HEADER: the name and text of every file in FILES.
set(entries "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
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
