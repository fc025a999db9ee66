// A request as code that people can take with them.

function shell_quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

// A JSON value as Python writes it.
function python(value) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object") return `{${Object.entries(value).map(([name, part]) => `${JSON.stringify(name)}: ${python(part)}`).join(", ")}}`;
  return JSON.stringify(value);
}

export function curl_code(origin, request) {
  return `curl -N ${origin}/v1/completions \\
  -H 'Content-Type: application/json' \\
  -d ${shell_quoted(JSON.stringify({ ...request, stream: true }, null, 2))}`;
}

export function python_code(origin, request) {
  const { knobs, guidance, grammar, ...known } = request;
  const own = Object.fromEntries(Object.entries({ knobs, guidance, grammar }).filter(([, value]) => value !== undefined));
  const lines = Object.entries(known).map(([name, value]) => `    ${name}=${python(value)},`);
  return `from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key="none")
stream = client.completions.create(
${lines.join("\n")}
    extra_body=${python(own)},
    stream=True,
)
for chunk in stream:
    for choice in chunk.choices:
        print(choice.text, end="", flush=True)`;
}

export function live_code(origin, request) {
  const { knobs, guidance } = request;
  return `# While it writes: ID is the "id" of any of its chunks. Holds from the next token on.
curl ${origin}/v1/completions/ID/knobs \\
  -H 'Content-Type: application/json' \\
  -d ${shell_quoted(JSON.stringify({ knobs, guidance }))}

# To end it:
curl -X DELETE ${origin}/v1/completions/ID`;
}
