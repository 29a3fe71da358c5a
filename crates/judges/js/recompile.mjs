// Compiles Solidity with the solc that this package pins and returns what a committed artifact
// holds, so that the caller compares the two.
//
// in:  {settings: the content of solc.json, sources: {file name: source text}}
// out: {compiler, errors, contracts: {name: {abi, bytecode, deployedBytecode}}}

import solc from "solc";

import { readOrder, report } from "./io.mjs";

const { settings, sources } = await readOrder();
const input = {
  ...settings,
  sources: Object.fromEntries(
    Object.entries(sources).map(([file, content]) => [file, { content }]),
  ),
};
const output = JSON.parse(
  solc.compile(JSON.stringify(input), {
    import: (path) =>
      path in sources ? { contents: sources[path] } : { error: `no source ${path}` },
  }),
);
report({
  compiler: `solc ${solc.version()}`,
  errors: (output.errors ?? []).map(({ formattedMessage }) => formattedMessage),
  contracts: Object.fromEntries(
    Object.values(output.contracts ?? {}).flatMap((contracts) =>
      Object.entries(contracts).map(([name, { abi, evm }]) => [
        name,
        {
          abi,
          bytecode: `0x${evm.bytecode.object}`,
          deployedBytecode: `0x${evm.deployedBytecode.object}`,
        },
      ]),
    ),
  ),
});
