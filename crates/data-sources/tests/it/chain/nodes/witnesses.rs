//! Several nodes and one transaction.

use super::*;

#[tokio::test]
async fn a_status_counts_when_two_nodes_agree_and_is_labelled_when_one_reports_it() {
    let testimony = async |nodes: &[&MockServer]| {
        let found = reader(nodes).transaction(196, HASH, None).await.unwrap();
        found.value.unwrap().testimony
    };
    let (one, two) = (node(replies()).await, node(replies()).await);
    assert_eq!(testimony(&[&one, &two]).await, Testimony::TwoNodes);
    assert_eq!(
        testimony(&[&one]).await,
        Testimony::OneNode("only_one_node_configured")
    );
    // A node that is behind does not contradict it.
    let lagging = changed("eth_getTransactionByHash", |tx| *tx = Value::Null).await;
    let silent = Testimony::OneNode("other_nodes_do_not_answer");
    assert_eq!(testimony(&[&one, &lagging]).await, silent);
    // With a third node, two agree again.
    assert_eq!(
        testimony(&[&one, &lagging, &two]).await,
        Testimony::TwoNodes
    );
}

#[tokio::test]
async fn a_node_that_hangs_does_not_hold_the_answer() {
    let good = node(replies()).await;
    let hanging = answering(ResponseTemplate::new(200).set_delay(Duration::from_secs(50))).await;
    for nodes in [[&good, &hanging], [&hanging, &good]] {
        let begun = std::time::Instant::now();
        let told = reader(&nodes).transaction(196, HASH, None).await;
        let took = begun.elapsed();
        assert_eq!(
            told.unwrap().value.unwrap().testimony,
            Testimony::OneNode("other_nodes_do_not_answer")
        );
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}

#[tokio::test]
async fn a_node_that_knows_a_transaction_without_its_outcome_does_not_make_it_unknown() {
    let half = changed("eth_getTransactionReceipt", |receipt| {
        *receipt = Value::Null
    })
    .await;
    let ignorant = changed("eth_getTransactionByHash", |tx| *tx = Value::Null).await;
    for nodes in [[&half, &ignorant], [&ignorant, &half]] {
        let told = reader(&nodes).transaction(196, HASH, None).await;
        assert_eq!(code(told), "upstream_malformed");
    }
    // A node with another sender contradicts a complete report, whatever it knows about the
    // outcome.
    let other = {
        let mut replies = replies();
        replies.get_mut("eth_getTransactionByHash").unwrap()["result"]["value"] = json!("0x1");
        replies.get_mut("eth_getTransactionReceipt").unwrap()["result"] = Value::Null;
        node(replies).await
    };
    let whole = node(replies()).await;
    let told = reader(&[&whole, &other]).transaction(196, HASH, None).await;
    assert_eq!(code(told), "upstream_business_nodes_disagree");
}

#[tokio::test]
async fn nodes_that_contradict_each_other_are_not_believed() {
    let honest = node(replies()).await;
    let lies: [(&str, Change); 4] = [
        ("eth_getTransactionReceipt", |receipt| {
            receipt["status"] = json!("0x0")
        }),
        ("eth_getTransactionReceipt", |receipt| {
            receipt["logs"] = json!([])
        }),
        ("eth_getTransactionReceipt", |receipt| {
            receipt["logs"][0]["data"] = json!(format!("0x{}", "ff".repeat(32)))
        }),
        ("eth_getTransactionByHash", |tx| tx["value"] = json!("0x1")),
    ];
    for (place, (method, lie)) in lies.into_iter().enumerate() {
        let liar = changed(method, lie).await;
        for nodes in [[&honest, &liar], [&liar, &honest]] {
            let told = reader(&nodes).transaction(196, HASH, None).await;
            assert_eq!(code(told), "upstream_business_nodes_disagree", "{place}");
        }
    }
    // Two that agree outvote one.
    let liar = changed("eth_getTransactionReceipt", |receipt| {
        receipt["status"] = json!("0x0")
    })
    .await;
    let other = node(replies()).await;
    let reader = reader(&[&liar, &honest, &other]);
    let told = reader.transaction(196, HASH, None).await;
    let record = told.unwrap().value.unwrap();
    assert_eq!(
        (record.receipt.unwrap().outcome, record.testimony),
        (ExecutionOutcome::Success, Testimony::TwoNodes)
    );
}

#[tokio::test]
async fn a_transaction_is_unknown_only_when_every_node_says_so() {
    let ignorant = changed("eth_getTransactionByHash", |tx| *tx = Value::Null).await;
    let knowing = node(replies()).await;
    let down = answering(ResponseTemplate::new(503)).await;
    let found = |nodes: Vec<&MockServer>| {
        let reader = reader(&nodes);
        async move {
            reader
                .transaction(196, HASH, None)
                .await
                .map(|found| found.value.is_some())
        }
    };
    assert_eq!(found(vec![&ignorant, &knowing]).await, Ok(true));
    assert_eq!(found(vec![&down, &knowing]).await, Ok(true));
    assert_eq!(found(vec![&ignorant, &down]).await, Ok(false));
    assert_eq!(
        code(reader(&[&down]).transaction(196, HASH, None).await),
        "upstream_http_503"
    );
    assert_eq!(
        code(reader(&[]).transaction(196, HASH, None).await),
        "upstream_disabled"
    );
}

#[tokio::test]
async fn the_node_that_answered_is_asked_first_afterwards() {
    let down = answering(ResponseTemplate::new(503)).await;
    let good = node(replies()).await;
    let reader = reader(&[&down, &good]);
    reader.transaction(196, HASH, None).await.unwrap();
    // The silent node was asked for the transaction together with the other node, and was not asked
    // for the block.
    assert_eq!(methods(&down).await, ["eth_chainId"]);
}
