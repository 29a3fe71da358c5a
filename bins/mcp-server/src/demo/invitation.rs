//! The next steps for a newcomer. Every printed line works as it is.

use std::io::Write;

use serde_json::{Value, json};

use super::DemoError;
use super::forgery::{FORGERIES, RECEIVER};
use super::plan::Plan;
use super::stage::{self, Running, Stage};
use super::transcript::TOOL;

const JSON: &str = "-H 'Content-Type: application/json'";
const ACCEPT: &str = "-H 'Accept: application/json, text/event-stream'";

pub(super) fn invite(
    stage: &Stage,
    server: &Running,
    plan: &Plan,
    out: &mut impl Write,
) -> Result<(), DemoError> {
    let url = format!("http://{}", server.address);
    let ask = |method: &str, params: &Value| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        format!("curl -s '{url}/mcp' {JSON} {ACCEPT} -d '{message}'")
    };
    let swap = json!({"name": TOOL, "arguments": stage::arguments()});
    let order = json!({"name": "svc_prepare_perp_order", "arguments": {
        "accountProfile": {"kind": "eoa", "address": stage::ACCOUNT},
        "coin": "BTC", "side": "buy", "price": "99000", "size": "0.001",
    }});
    stage.write("plan.json", &plan.text)?;
    let forgery = FORGERIES.iter().find(|forgery| forgery.check == RECEIVER);
    if let Some(forged) = forgery.and_then(|forgery| forgery.of(&plan.text)) {
        stage.write("forged.json", &forged)?;
    }
    stage.write("steps.json", &batch(plan).to_string())?;
    let file = |name| format!("'{}'", stage.path(name).display());

    writeln!(out, "\nThe server stays up. Try it (Ctrl-C ends it):")?;
    writeln!(
        out,
        "\n# the tools, with their schemas\n{}",
        ask("tools/list", &json!({}))
    )?;
    writeln!(
        out,
        "\n# another plan of this kind; change an argument and see what is refused\n{}",
        ask("tools/call", &swap)
    )?;
    writeln!(
        out,
        "\n# an order of another rail\n{}",
        ask("tools/call", &order)
    )?;
    writeln!(
        out,
        "\n# the steps once more: a plan can be sent twice, as its replay_disclosure says\n\
         curl -s '{}/' {JSON} -d '@{}'",
        stage.rpc.url(),
        stage.path("steps.json").display()
    )?;
    writeln!(
        out,
        "\n# how the upstreams are doing\ncurl -s '{url}/status'"
    )?;
    writeln!(
        out,
        "\n# the plan, judged by another program; forged.json beside it is refused\n\
         fence-cli plan verify --plan {} --request {} --fees {}\n",
        file("plan.json"),
        file("arguments.json"),
        file("fees.toml")
    )?;
    Ok(out.flush()?)
}

/// The steps as a batch of requests to the embedded chain.
fn batch(plan: &Plan) -> Value {
    let steps = (1..).zip(&plan.payload.steps);
    let calls = steps.map(|(id, step)| {
        let transaction = step.transaction(plan.account_binding.address);
        json!({"jsonrpc": "2.0", "id": id, "method": "eth_sendTransaction", "params": [transaction]})
    });
    calls.collect()
}
