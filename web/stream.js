// Server-sent events of an answer to POST, which EventSource cannot read.

// Yields the data of each event, parsed, until [DONE] or the end. `response` is fetch's.
export async function* events_of(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value.replaceAll("\r\n", "\n");
      let end = rest.indexOf("\n\n");
      while (end >= 0) {
        const data = data_of(rest.slice(0, end));
        rest = rest.slice(end + 2);
        if (data === "[DONE]") return;
        if (data !== "") yield JSON.parse(data);
        end = rest.indexOf("\n\n");
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// Lines other than `data:` are comments that keep a connection alive.
function data_of(event) {
  const lines = event.split("\n").filter((line) => line.startsWith("data:"));
  return lines.map((line) => line.slice(5).trimStart()).join("\n");
}
