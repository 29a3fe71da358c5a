// What every script here shares: one JSON document in on stdin, one JSON line out on stdout.

/** Reads the whole of stdin as JSON. */
export async function readOrder() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

/** Prints the verdict as one line. */
export function report(verdict) {
  process.stdout.write(`${JSON.stringify(verdict)}\n`);
}
