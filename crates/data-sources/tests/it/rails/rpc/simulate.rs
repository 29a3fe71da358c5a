//! Whole-plan simulation.

use super::*;

fn plan() -> Vec<Step> {
    let step = |kind, data: Bytes| Step {
        kind,
        to: TARGET,
        value: U256::from(255),
        data,
    };
    vec![
        step(StepKind::Approve, bytes!("095ea7b3")),
        step(StepKind::Call, bytes!("5fd9ae2e")),
    ]
}

fn simulated(calls: Value) -> ResponseTemplate {
    result(json!([{"number": "0x1", "hash": format!("0x{}", "00".repeat(32)), "calls": calls}]))
}

async fn simulation(
    response: ResponseTemplate,
) -> Result<Option<Vec<plan_builder::ports::SimulatedCall>>, PortError> {
    let node = node(response).await;
    reader(&[node.uri()]).simulate(BASE, ACCOUNT, &plan()).await
}

fn good() -> Value {
    let topic = format!("0x{}", "11".repeat(32));
    json!([
        {"status": "0x1", "returnData": "0x01", "gasUsed": "0xb422", "logs": [
            {"address": format!("0x{}", "bb".repeat(20)), "topics": [topic, topic], "data": "0x05", "blockNumber": "0x1", "logIndex": "0x0"}]},
        {"status": "0x0", "returnData": "0x275c273c", "gasUsed": "0x1", "logs": [], "error": {"code": 3, "message": "execution reverted"}},
    ])
}

#[tokio::test]
async fn a_plan_is_simulated_whole() {
    let node = node(simulated(good())).await;
    let calls = reader(&[node.uri()])
        .simulate(BASE, ACCOUNT, &plan())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (calls[0].success, calls[0].gas_used, &calls[0].return_data),
        (true, 46_114, &bytes!("01"))
    );
    assert_eq!(
        (
            calls[0].logs[0].address,
            calls[0].logs[0].topics.len(),
            &calls[0].logs[0].data
        ),
        (TARGET, 2, &bytes!("05"))
    );
    assert_eq!(
        (calls[1].success, &calls[1].return_data, calls[1].logs.len()),
        (false, &bytes!("275c273c"), 0)
    );

    let requests = node.received_requests().await.unwrap();
    let body: Value = serde_json::from_slice(&requests[1].body).unwrap();
    let (from, to) = (
        format!("0x{}", "aa".repeat(20)),
        format!("0x{}", "bb".repeat(20)),
    );
    assert_eq!(body["method"], "eth_simulateV1");
    assert_eq!(
        body["params"],
        json!([{
            "blockStateCalls": [{"calls": [
                {"from": from, "to": to, "value": "0xff", "data": "0x095ea7b3"},
                {"from": from, "to": to, "value": "0xff", "data": "0x5fd9ae2e"},
            ], "stateOverrides": {}}],
            "validation": false,
            "traceTransfers": false,
        }, "latest"])
    );
}

#[tokio::test]
async fn a_node_without_simulation_differs_from_a_missing_node() {
    for (code, message) in [
        (
            -32601,
            "the method eth_simulateV1 does not exist/is not available",
        ),
        (-32601, "Method not found"),
        (-32000, "Method eth_simulateV1 not supported"),
    ] {
        assert_eq!(
            reason(simulation(json(&error(code, message))).await, "rpc"),
            unavailable("no endpoint of chain 8453 offers eth_simulateV1")
        );
    }
    // A node with the method is asked when the first one lacks it.
    let (first, second) = (
        node(json(&error(-32601, "Method not found"))).await,
        node(simulated(good())).await,
    );
    let both = reader(&[first.uri(), second.uri()]);
    assert_eq!(
        both.simulate(BASE, ACCOUNT, &plan())
            .await
            .unwrap()
            .unwrap()
            .len(),
        2
    );
    // A failing node is not the same as one that lacks the method.
    assert_eq!(
        reason(
            simulation(json(&error(-32000, "execution timeout"))).await,
            "rpc"
        ),
        unavailable("simulate: business code -32000: execution timeout")
    );
    assert_eq!(
        reason(
            simulation(json(&error(-38014, "insufficient funds"))).await,
            "rpc"
        ),
        refused("insufficient funds (code -38014)")
    );
}

#[tokio::test]
async fn revert_data_is_found_in_either_place() {
    let mut calls = good();
    calls[1]["returnData"] = json!("0x");
    calls[1]["error"]["data"] = json!("0x1e4ec46b");
    assert_eq!(
        simulation(simulated(calls)).await.unwrap().unwrap()[1].return_data,
        bytes!("1e4ec46b")
    );
    let mut calls = good();
    calls[1].as_object_mut().unwrap().remove("returnData");
    calls[1].as_object_mut().unwrap().remove("error");
    assert_eq!(
        simulation(simulated(calls)).await.unwrap().unwrap()[1].return_data,
        Bytes::new()
    );
}

#[tokio::test]
async fn outcomes_that_do_not_fit_the_plan_are_malformed() {
    let changed = |pointer: &str, value: Value| {
        let mut calls = good();
        *calls.pointer_mut(pointer).unwrap() = value;
        async move { simulation(simulated(calls)).await }
    };
    assert_eq!(
        place(simulation(simulated(json!([]))).await),
        "$.result[0].calls"
    );
    assert_eq!(
        place(simulation(simulated(json!([good()[0]]))).await),
        "$.result[0].calls"
    );
    assert_eq!(place(simulation(result(json!([]))).await), "$.result");
    for (pointer, value, path) in [
        ("/0/status", json!("1"), "status"),
        ("/0/status", json!(1), "status"),
        ("/0/gasUsed", json!(1), "gasUsed"),
        ("/0/gasUsed", json!("0x10000000000000000"), "gasUsed"),
        ("/0/returnData", json!("01"), "returnData"),
        ("/0/logs", json!({}), "logs"),
        ("/0/logs/0/address", json!("0x"), "logs[0].address"),
        ("/0/logs/0/topics/1", json!("0x11"), "logs[0].topics[1]"),
        ("/0/logs/0/data", Value::Null, "logs[0].data"),
    ] {
        assert_eq!(
            place(changed(pointer, value).await),
            format!("$.result[0].calls[0].{path}")
        );
    }
}
