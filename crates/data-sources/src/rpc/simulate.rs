//! `eth_simulateV1`: one block with the calls of a plan, which the node drops afterwards.

use alloy_primitives::{Address, Bytes};
use calldata_checks::Step;
use plan_builder::ports::{SimulatedCall, SimulatedLog};
use serde_json::{Value, json};

use crate::{
    error::SourceErrorKind,
    json::{Json, Object},
};

type Read<T> = Result<T, SourceErrorKind>;

/// The calls as they would be sent, without fees: the question is what the calls do, not whether
/// the account can pay for gas.
pub(super) fn params(account: Address, calls: &[Step]) -> Value {
    let call = |step: &Step| {
        json!({
            "from": format!("{account:#x}"),
            "to": format!("{:#x}", step.to),
            "value": format!("{:#x}", step.value),
            "data": step.data,
        })
    };
    let calls: Vec<Value> = calls.iter().map(call).collect();
    let options = json!({
        "blockStateCalls": [{"calls": calls, "stateOverrides": {}}],
        "validation": false,
        "traceTransfers": false,
    });
    json!([options, "latest"])
}

/// The outcomes of `expected` calls, in order.
pub(super) fn read(result: &Json<'_>, expected: usize) -> Read<Vec<SimulatedCall>> {
    let [block] = result.exactly("a list of one block")?;
    let calls = block.object()?.member("calls")?;
    let elements = calls.elements()?;
    if elements.len() != expected {
        return Err(calls.malformed("one outcome for each call"));
    }
    elements
        .iter()
        .map(|call| outcome(&call.object()?))
        .collect()
}

fn outcome(call: &Object<'_>) -> Read<SimulatedCall> {
    let status = call.member("status")?;
    let success = match status.text()?.as_str() {
        "0x1" => true,
        "0x0" => false,
        _ => return Err(status.malformed("0x0 or 0x1")),
    };
    let gas = call.member("gasUsed")?;
    let returned = call
        .find("returnData")
        .map(|data| data.bytes())
        .transpose()?;
    Ok(SimulatedCall {
        success,
        return_data: match returned.filter(|data| !data.is_empty()) {
            Some(data) => data,
            None if success => Bytes::new(),
            None => revert_data(call)?,
        },
        gas_used: u64::try_from(gas.quantity()?).map_err(|_| gas.malformed("an amount of gas"))?,
        logs: match call.find("logs") {
            Some(logs) => logs.elements()?.iter().map(log).collect::<Read<_>>()?,
            None => Vec::new(),
        },
    })
}

/// Some nodes give the revert data inside the error instead.
fn revert_data(call: &Object<'_>) -> Read<Bytes> {
    let error = call.find("error").map(|error| error.object()).transpose()?;
    error
        .and_then(|error| error.find("data"))
        .map_or(Ok(Bytes::new()), |data| data.bytes())
}

fn log(json: &Json<'_>) -> Read<SimulatedLog> {
    let log = json.object()?;
    let topics = log.member("topics")?;
    Ok(SimulatedLog {
        address: log.member("address")?.address()?,
        topics: topics
            .elements()?
            .iter()
            .map(Json::word)
            .collect::<Read<_>>()?,
        data: log.member("data")?.bytes()?,
    })
}
