//! Attacks on the agent rail, and the requests of an honest agent.

use bench::exchange::HttpAnswer;
use bench::swap;
use dev_chain::BUYER;
use http::HeaderValue;
use serde_json::{Value, json};

use crate::SiegeError;
use crate::client::{CLIENT_ADDRESS, Client, Request};
use crate::field::Attacker;

type Acted = Result<Attacker, SiegeError>;

/// The address of the flood. To the rail it is one caller, however many connections it opens.
const FLOOD: HeaderValue = HeaderValue::from_static("10.99.0.1");

/// Makes a call of the swap tool for this amount, in the smallest unit.
pub fn swap_call(amount: u64) -> Request {
    let mut arguments: Value = serde_json::from_str(swap::ARGUMENTS).unwrap_or_default();
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.insert("fromAmount".to_owned(), amount.to_string().into());
    }
    tool_call("svc_prepare_swap", &arguments)
}

fn tool_call(tool: &str, arguments: &Value) -> Request {
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    });
    let accept = HeaderValue::from_static("application/json, text/event-stream");
    Request::post("/mcp", call.to_string()).with(http::header::ACCEPT, accept)
}

/// Returns why a tool gave no plan. `None` when it gave one.
pub fn why_no_plan(answer: &HttpAnswer) -> Option<String> {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let plan = body.pointer("/result/structuredContent");
    let refused = body.pointer("/result/isError").and_then(Value::as_bool) == Some(true);
    if answer.status == http::StatusCode::OK && plan.is_some() && !refused {
        return None;
    }
    let text = String::from_utf8_lossy(&answer.body);
    Some(format!(
        "{} {}",
        answer.status.as_u16(),
        text.chars().take(400).collect::<String>()
    ))
}

/// Calls the swap tool from one address. Each call has another amount, so that no answer is in a
/// cache.
pub(super) async fn flood(mut attacker: Attacker) -> Acted {
    let rail = attacker.field.rail;
    let amount = attacker.chance.below(900_000_000).saturating_add(1_000_000);
    let request = swap_call(amount).with(CLIENT_ADDRESS, FLOOD);
    send(&mut attacker, rail, &request).await;
    Ok(attacker)
}

/// Calls the other tools from the same address, each time about another subject.
pub(super) async fn other_tools(mut attacker: Attacker) -> Acted {
    let rail = attacker.field.rail;
    let amount = attacker.chance.below(900_000_000).saturating_add(1_000_000);
    let (tool, arguments) = match attacker.chance.below(3) {
        0 => (
            "svc_prepare_bridge",
            json!({
                "accountProfile": {"kind": "eoa", "address": BUYER.address, "chainId": 8453},
                "fromChainId": 8453, "toChainId": 42161, "token": "USDC", "amount": amount.to_string(),
            }),
        ),
        1 => (
            "svc_prepare_pm_order",
            json!({
                "accountProfile": {"kind": "eoa", "address": BUYER.address, "chainId": 137},
                "tokenId": amount.to_string(), "side": "BUY", "price": "0.5", "size": "10",
            }),
        ),
        _ => (
            "svc_prepare_perp_order",
            json!({
                "accountProfile": {"kind": "eoa", "address": BUYER.address},
                "coin": format!("C{amount}"), "side": "buy", "price": "1", "size": "100",
            }),
        ),
    };
    let request = tool_call(tool, &arguments).with(CLIENT_ADDRESS, FLOOD);
    send(&mut attacker, rail, &request).await;
    Ok(attacker)
}

/// Calls the swap tool now and then from the attacker's own address.
pub(super) async fn sip(mut attacker: Attacker) -> Acted {
    let rail = attacker.field.rail;
    let amount = attacker.chance.below(900_000_000).saturating_add(1_000_000);
    let request = attacker.addressed(swap_call(amount));
    send(&mut attacker, rail, &request).await;
    Ok(attacker)
}

/// Sends bodies that are no messages.
pub(super) async fn malformed(mut attacker: Attacker) -> Acted {
    let rail = attacker.field.rail;
    let body = match attacker.chance.below(5) {
        0 => "{".to_owned(),
        1 => "[".repeat(30_000),
        2 => r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call"}"#.to_owned(),
        3 => format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#,
            "x".repeat(40_000)
        ),
        _ => r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]"#.to_owned(),
    };
    let request = Request::post("/mcp", body).with(CLIENT_ADDRESS, FLOOD);
    send(&mut attacker, rail, &request).await;
    Ok(attacker)
}

async fn send(attacker: &mut Attacker, rail: std::net::SocketAddr, request: &Request) {
    let outcome = match Client::new(rail).send(request).await {
        Ok(answer) => match why_no_plan(&answer) {
            None => "plan".to_owned(),
            Some(why) if why.contains("rate_limited") => "rate_limited".to_owned(),
            Some(_) => answer.status.as_u16().to_string(),
        },
        Err(_) => "no answer".to_owned(),
    };
    attacker.field.record.crowd(attacker.name, outcome);
}
