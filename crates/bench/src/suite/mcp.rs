//! A tool call over MCP that builds a plan, against an echo of the same plan over the official Rust
//! SDK.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::site::{Site, expect};
use super::{Cost, Effort, measured};
use crate::BenchError;
use crate::baseline::mcp::Setup;
use crate::exchange::{Connection, HttpAnswer, Message};
use crate::load::{Load, Posting, Requests};
use crate::measure::{Quantity, Ratio};
use crate::process::Server;
use crate::report::{Amount, Finding, Limit, Report};
use crate::swap::{ARGUMENTS, quote_answer};

const TARGET: &str = "/mcp";

const TOOL: &str = "svc_prepare_swap";

const BASELINE: &str = "official Rust SDK, echo of the plan";

const CHEAPEST: &str = "official Rust SDK as cheap as it can be, plan recorded";

/// The limit of a plan that is made and hashed, against an echo of it.
const OF_THE_ECHO: Ratio = Ratio::thousandths(400);

/// The limit against a recorded plan. The baseline hashes nothing, and a third of our cost is the
/// hash of the plan.
const OF_THE_RECORDED: Ratio = Ratio::thousandths(1_300);

const NO_MORE: Ratio = Ratio::thousandths(1_000);

pub(super) async fn run(
    site: &Site,
    effort: Effort,
    report: &mut Report,
) -> Result<(), BenchError> {
    let ours = site.plan_server()?;
    let (asked, asked_bare) = (Era::Modern.call(ARGUMENTS), Era::Bare.call(ARGUMENTS));
    let plan = plan_of(&call(&ours, &asked).await?)?;
    // An echo returns its input, so its input is the plan.
    let said = Era::Modern.call(&plan);
    let echo = site.baseline_mcp(Setup::Echo, &plan)?;
    let cheapest = site.baseline_mcp(Setup::Cheapest, &plan)?;
    for (server, message) in [
        (&echo, &said),
        (&cheapest, &asked),
        (&cheapest, &asked_bare),
    ] {
        if !same(&plan_of(&call(server, message).await?)?, &plan)? {
            return Err(BenchError::Answer {
                what: "likeness to its baseline",
            });
        }
    }
    let aggregator = site.fixed(&quote_answer())?;
    let asking = site.mcp_server(aggregator.address())?;

    let calls = [
        (&ours, &asked),
        (&echo, &said),
        (&cheapest, &asked),
        (&asking, &asked),
    ];
    let [own, base, least, with_quote] = turns(calls, effort).await?;
    let calls = [(&ours, &asked_bare), (&cheapest, &asked_bare)];
    let [own_bare, least_bare] = turns(calls, effort).await?;
    for finding in [
        cpu("plan over MCP", &own, (BASELINE, &base), OF_THE_ECHO),
        p50("plan over MCP, p50", &own, (BASELINE, &base), NO_MORE),
        cpu("plan over MCP", &own, (CHEAPEST, &least), OF_THE_RECORDED),
        p50(
            "plan over MCP, p50",
            &own,
            (CHEAPEST, &least),
            OF_THE_RECORDED,
        ),
        cpu(
            "plan over MCP, bare call",
            &own_bare,
            (CHEAPEST, &least_bare),
            OF_THE_RECORDED,
        ),
        p50(
            "plan over MCP, bare call, p50",
            &own_bare,
            (CHEAPEST, &least_bare),
            OF_THE_RECORDED,
        ),
        cpu(
            "plan over MCP, quote fetched",
            &with_quote,
            (BASELINE, &base),
            NO_MORE,
        ),
    ] {
        report.add(finding);
    }
    Ok(())
}

/// How a client calls a tool.
#[derive(Debug, Clone, Copy)]
enum Era {
    /// With the headers and the metadata of the revision 2026-07-28.
    Modern,
    /// Without a handshake, a version or metadata.
    Bare,
}

impl Era {
    /// A call of the tool.
    fn call(self, arguments: &str) -> Message {
        let mut headers = HeaderMap::new();
        let mut header = |name: HeaderName, value| {
            headers.insert(name, HeaderValue::from_static(value));
        };
        header(CONTENT_TYPE, "application/json");
        header(ACCEPT, "application/json, text/event-stream");
        let meta = match self {
            Self::Modern => {
                header(
                    HeaderName::from_static("mcp-protocol-version"),
                    "2026-07-28",
                );
                header(HeaderName::from_static("mcp-method"), "tools/call");
                header(HeaderName::from_static("mcp-name"), TOOL);
                META
            }
            Self::Bare => "",
        };
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{TOOL}","arguments":{arguments}{meta}}}}}"#
        );
        Message {
            headers,
            body: body.into(),
        }
    }
}

const META: &str = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

async fn call(server: &Server, message: &Message) -> Result<HttpAnswer, BenchError> {
    let mut connection = Connection::open(server.address()).await?;
    expect(connection.post(TARGET, message).await?, 200)
}

/// The plan in an answer, byte for byte.
fn plan_of(answer: &HttpAnswer) -> Result<String, BenchError> {
    #[derive(Deserialize)]
    struct Response<'a> {
        #[serde(borrow)]
        result: Outcome<'a>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Outcome<'a> {
        #[serde(borrow)]
        structured_content: &'a RawValue,
        content: Vec<Block>,
        is_error: Option<bool>,
    }
    #[derive(Deserialize)]
    struct Block {
        text: String,
    }
    let Outcome {
        structured_content,
        content,
        is_error,
    } = serde_json::from_slice::<Response<'_>>(message_of(answer))?.result;
    let plan = structured_content.get();
    let mut said_twice = true;
    for block in &content {
        said_twice &= same(&block.text, plan)?;
    }
    if is_error == Some(true) || content.len() != 1 || !said_twice {
        return Err(BenchError::Answer { what: "plan" });
    }
    Ok(plan.to_owned())
}

/// The message in an answer: its body, or the event of a stream that has data.
fn message_of(answer: &HttpAnswer) -> &[u8] {
    let lines = answer.body.split(|byte| *byte == b'\n');
    let mut data = lines.filter_map(|line| line.strip_prefix(b"data:"));
    let message = data.rfind(|data| !data.trim_ascii().is_empty());
    message.unwrap_or(&answer.body)
}

/// Whether two texts are the same JSON, in any order of members.
fn same(one: &str, other: &str) -> Result<bool, BenchError> {
    let read = serde_json::from_str::<Value>;
    Ok(one == other || read(one)? == read(other)?)
}

/// The cost of a call at each of some servers that take turns.
async fn turns<const N: usize>(
    calls: [(&Server, &Message); N],
    effort: Effort,
) -> Result<[Cost; N], BenchError> {
    let mut costs = [const { Vec::new() }; N];
    for round in 0..=effort.rounds {
        for ((server, message), costs) in calls.iter().zip(&mut costs) {
            let answer = call(server, message).await?;
            plan_of(&answer)?;
            let posting = Posting {
                message: (*message).clone(),
                times: effort.calls,
                answer_length: answer.body.len(),
            };
            let load = Load {
                target: TARGET.to_owned(),
                requests: Requests::Posting(posting),
                connections: effort.connections,
                expected: StatusCode::OK,
            };
            let cost = measured(server, load).await?;
            // The first round warms up.
            if round > 0 {
                costs.push(cost);
            }
        }
    }
    Ok(costs.map(|costs| Cost::middle(&costs)))
}

/// A baseline with its name.
type Base<'a> = (&'static str, &'a Cost);

fn cpu(name: &'static str, ours: &Cost, (against, base): Base<'_>, most: Ratio) -> Finding {
    let limit = Limit::Times(most, against, Amount::Cpu(base.cpu));
    Finding {
        name,
        ours: Amount::Cpu(ours.cpu),
        limit,
    }
}

fn p50(name: &'static str, ours: &Cost, (against, base): Base<'_>, most: Ratio) -> Finding {
    let time = |nanos: Quantity| Amount::Time(std::time::Duration::from_nanos(nanos));
    Finding {
        name,
        ours: time(ours.p50),
        limit: Limit::Times(most, against, time(base.p50)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &str) -> HttpAnswer {
        HttpAnswer {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: body.to_owned().into(),
        }
    }

    #[test]
    fn calls_are_json_and_differ_in_the_protocols_metadata() {
        let [modern, bare] = [Era::Modern, Era::Bare].map(|era| era.call(ARGUMENTS));
        let parsed = |message: &Message| -> serde_json::Value {
            serde_json::from_slice(&message.body).unwrap()
        };
        let (mut modern_call, bare_call) = (parsed(&modern), parsed(&bare));
        let meta = modern_call["params"]
            .as_object_mut()
            .unwrap()
            .remove("_meta")
            .unwrap();
        assert_eq!(
            meta["io.modelcontextprotocol/protocolVersion"],
            "2026-07-28"
        );
        assert_eq!(modern_call, bare_call);
        assert_eq!((modern.headers.len(), bare.headers.len()), (5, 2));
    }

    #[test]
    fn an_answer_must_hold_its_plan_twice() {
        let said = r#"{"result":{"content":[{"type":"text","text":"{\"rail\":\"swap\"}"}],"structuredContent":{"rail":"swap"}}}"#;
        assert_eq!(plan_of(&answer(said)).unwrap(), r#"{"rail":"swap"}"#);
        let refused = said.replace(r#""content""#, r#""isError":true,"content""#);
        let other = said.replace(r#"\"swap\""#, r#"\"bridge\""#);
        for body in [&refused, &other, r#"{"error":{}}"#] {
            plan_of(&answer(body)).unwrap_err();
        }
    }
}
