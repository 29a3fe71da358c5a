// The creation code of contracts of the MetaMask delegation framework, as its authors publish it.
//
// in:  [contract name]
// out: {contract name: creation code}

import * as bytecode from "@metamask/delegation-abis/bytecode";

import { readOrder, report } from "./io.mjs";

report(Object.fromEntries((await readOrder()).map((name) => [name, bytecode[name]])));
