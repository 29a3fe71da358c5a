// Lists tools and calls them with the TypeScript clients of the protocol, which check every result against the tool's own
// output schema.
//
// argument: "client" (@modelcontextprotocol/client as it comes), "client-auto" (the same, negotiating the newest revision),
//           "sdk" (@modelcontextprotocol/sdk), "sdk-stdio" (the same, starting the server itself)
// in:  {url | command: [program, argument…], calls: [{name, arguments}]}
// out: {protocol_version, tools, results: [result | {error}]}

import { readOrder, report } from "./io.mjs";

const IDENTITY = { name: "judges", version: "1.0.0" };

async function connect(which, { url, command }) {
  if (which === "sdk-stdio") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const client = new Client(IDENTITY);
    const [program, ...args] = command;
    await client.connect(new StdioClientTransport({ command: program, args }));
    return { client, version: () => null };
  }
  if (which === "sdk") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import(
      "@modelcontextprotocol/sdk/client/streamableHttp.js"
    );
    const client = new Client(IDENTITY);
    const transport = new StreamableHTTPClientTransport(new URL(url));
    await client.connect(transport);
    return { client, version: () => transport.protocolVersion };
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const options = which === "client-auto" ? { versionNegotiation: { mode: "auto" } } : {};
  const client = new Client(IDENTITY, options);
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  return { client, version: () => client.getNegotiatedProtocolVersion() };
}

const order = await readOrder();
const { client, version } = await connect(process.argv[2], order);
const { tools } = await client.listTools();
const results = [];
for (const call of order.calls) {
  try {
    results.push(await client.callTool(call));
  } catch (error) {
    results.push({ error: `${error.name}: ${error.message}` });
  }
}
report({ protocol_version: version(), tools, results });
await client.close();
