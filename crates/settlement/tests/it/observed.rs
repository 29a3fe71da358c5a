//! Tests of what operators see: the metrics of the calls, and that no caller can cause log lines at
//! will.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use alloy_primitives::U256;
use dev_chain::{BadAnswer, DEV_ACCOUNTS, InjectedFault};
use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use settlement::{AnySettler, SettlementConfig, Settler};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};

use crate::chain::{builder, options, serve};
use crate::facilitator::{refused, settled};
use crate::payments::{Draft, NOW, USDC, USDT0, payment, terms, timeouts};
use crate::stage::{Stage, json, with_status};

/// A recorder that counts the samples of every histogram.
#[derive(Debug, Default, Clone)]
struct Samples(Arc<Mutex<BTreeMap<String, usize>>>);

struct Sample(Samples, String);

impl HistogramFn for Sample {
    fn record(&self, _seconds: f64) {
        let Self(Samples(counts), name) = self;
        *counts.lock().unwrap().entry(name.clone()).or_default() += 1;
    }
}

impl Recorder for Samples {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let labels: Vec<_> = key.labels().map(|label| label.value()).collect();
        let name = format!("{} {}", key.name(), labels.join(" "));
        self.0.lock().unwrap().entry(name.clone()).or_default();
        Histogram::from_arc(Arc::new(Sample(self.clone(), name)))
    }
}

#[tokio::test]
async fn every_call_is_timed_with_its_outcome() {
    let samples = Samples::default();
    let _guard = metrics::set_default_local_recorder(&samples);
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let config = SettlementConfig {
        facilitator_url: Some(stage.url()),
        rpc_url: Some(server.url().into()),
        timeouts: timeouts(),
        chain: options(),
        ..SettlementConfig::default()
    };
    let settler = AnySettler::connect(config, &terms()).await.unwrap();
    // Every series exists before its first call, so that an alarm for the first call can fire.
    for name in [
        "svc_facilitator_seconds verify ok",
        "svc_facilitator_seconds settle error",
        "svc_rpc_seconds eth_sendRawTransaction error",
    ] {
        assert_eq!(samples.0.lock().unwrap().get(name), Some(&0), "{name}");
    }
    stage.plays("/verify", [json(r#"{"isValid":true}"#)]);
    stage.plays(
        "/settle",
        [
            json(refused("insufficient_funds", "")),
            with_status(502, settled()),
        ],
    );
    let payment = payment(USDT0);
    settler.verify(&payment, U256::ZERO, NOW).await;
    settler.settle(&payment).await;
    settler.settle(&payment).await;
    chain.inject(InjectedFault::new("eth_getBlockByNumber", BadAnswer::Close));
    settler
        .is_void(&payment.key(), U256::ZERO)
        .await
        .unwrap_err();

    let counts = samples.0.lock().unwrap().clone();
    for (name, expected) in [
        ("svc_facilitator_seconds verify ok", 1),
        ("svc_facilitator_seconds settle ok", 1),
        ("svc_facilitator_seconds settle error", 1),
        ("svc_rpc_seconds eth_chainId ok", 1),
        ("svc_rpc_seconds eth_getBlockByNumber error", 1),
    ] {
        assert_eq!(counts.get(name), Some(&expected), "{name}: {counts:?}");
    }
    assert!(counts["svc_rpc_seconds eth_call ok"] > 0);
    assert!(
        counts.keys().all(|name| !name.contains("other")),
        "{counts:?}"
    );
}

/// A subscriber that counts the events above `DEBUG`.
#[derive(Debug, Default, Clone)]
struct Loud(Arc<Mutex<Vec<String>>>);

impl Subscriber for Loud {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() < Level::DEBUG && metadata.target().starts_with("settlement")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        let place = event.metadata();
        let line = format!("{} {}", place.level(), place.name());
        self.0.lock().unwrap().push(line);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn invalid_payments_write_no_line_above_debug() {
    let chain = builder().build().unwrap();
    let server = serve(&chain).await;
    let stage = Stage::open().await;
    let config = SettlementConfig {
        facilitator_url: Some(stage.url()),
        rpc_url: Some(server.url().into()),
        timeouts: timeouts(),
        chain: options(),
        ..SettlementConfig::default()
    };
    let settler = AnySettler::connect(config, &terms()).await.unwrap();
    let refusal = json(r#"{"isValid":false,"invalidReason":"insufficient_funds"}"#);
    stage.plays("/verify", vec![refusal; 2]);
    let loud = Loud::default();
    let _guard = tracing::subscriber::set_default(loud.clone());
    let poor = DEV_ACCOUNTS[4];
    for payment in [
        Draft::new(USDC).with_signature(&[7; 65]),
        Draft::new(USDC).with_signature(&[7; 130]),
        payment(USDC),
        Draft {
            key: poor.key,
            from: poor.address,
            ..Draft::new(USDC)
        }
        .sign(),
    ] {
        let verification = settler.verify(&payment, U256::ZERO, NOW).await;
        assert_eq!(verification.outcome(), "invalid");
    }
    chain.inject(InjectedFault::new("eth_call", BadAnswer::Close));
    let forged = Draft::new(USDC).with_signature(&[7; 130]);
    let verification = settler.verify(&forged, U256::ZERO, NOW).await;
    assert_eq!(verification.outcome(), "unavailable");
    assert_eq!(*loud.0.lock().unwrap(), [""; 0]);
    // This shows that the subscriber receives events above `DEBUG`.
    stage.plays("/verify", [with_status(500, "")]);
    settler.verify(&payment(USDC), U256::ZERO, NOW).await;
    assert_eq!(loud.0.lock().unwrap().len(), 1);
}
