# Writes OUTPUT, a C++ file with the text of every preset in FILES as a (name, text) table.
set(entries "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(APPEND entries "    {\"${name}\", R\"preset(${text})preset\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"experiment/presets.h\"

namespace semfuse {
const std::vector<EmbeddedPreset>& embedded_presets() {
  static const std::vector<EmbeddedPreset> presets = {
${entries}  };
  return presets;
}
}  // namespace semfuse
")
