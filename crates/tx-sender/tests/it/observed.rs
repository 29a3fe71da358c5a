//! Tests of the metrics of a lane.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dev_chain::{Fate, GAS_PAYER};
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString,
    Unit,
};
use test_support::pass;

use crate::support::{BASE_FEE, CAP, World, submit};

/// A recorder that keeps the value of every gauge and counter, by its name and the labels that tell
/// lanes and causes apart.
#[derive(Debug, Default, Clone)]
struct Values(Arc<Mutex<BTreeMap<String, f64>>>);

struct Value(Values, String);

impl Value {
    fn change(&self, change: impl Fn(f64) -> f64) {
        let Self(Values(values), name) = self;
        let mut values = values.lock().unwrap();
        let value = values.entry(name.clone()).or_default();
        *value = change(*value);
    }
}

#[allow(
    clippy::float_arithmetic,
    reason = "the interface of gauges counts in floats"
)]
impl GaugeFn for Value {
    fn increment(&self, more: f64) {
        self.change(|value| value + more);
    }

    fn decrement(&self, less: f64) {
        self.change(|value| value - less);
    }

    fn set(&self, new: f64) {
        self.change(|_| new);
    }
}

#[allow(
    clippy::float_arithmetic,
    reason = "values of gauges and counters share one map"
)]
impl CounterFn for Value {
    fn increment(&self, more: u64) {
        self.change(|value| value + f64::from(u32::try_from(more).unwrap()));
    }

    fn absolute(&self, new: u64) {
        self.change(|_| f64::from(u32::try_from(new).unwrap()));
    }
}

impl Values {
    fn value(&self, key: &Key) -> Arc<Value> {
        let labels: Vec<_> = key.labels().map(|label| label.value()).collect();
        let name = format!("{} {}", key.name(), labels.join(" "));
        Arc::new(Value(self.clone(), name))
    }

    /// Returns the value for the lane of these tests.
    fn of(&self, name: &str) -> Option<f64> {
        let name = format!("{name} 196 {}", GAS_PAYER.address);
        self.0.lock().unwrap().get(&name).copied()
    }

    fn held(&self, cause: &str) -> Option<f64> {
        let name = format!("svc_sender_held 196 {} {cause}", GAS_PAYER.address);
        self.0.lock().unwrap().get(&name).copied()
    }
}

impl Recorder for Values {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.value(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.value(key))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

#[tokio::test(start_paused = true)]
async fn a_lane_shows_its_depth_age_bumps_and_what_holds_it() {
    let values = Values::default();
    let _guard = metrics::set_default_local_recorder(&values);
    let world = World::new();
    let sender = world.sender().await;
    for number in 1..=3 {
        submit(&sender, number).await;
    }
    pass(Duration::from_secs(5)).await;
    assert_eq!(values.of("svc_sender_depth"), Some(3.0));
    let age = values.of("svc_sender_oldest_seconds").unwrap();
    assert!((4.0..=5.0).contains(&age), "{age}");
    assert!(values.of("svc_sender_transactions_left").unwrap() > 1000.0);
    assert_eq!(values.of("svc_sender_bumps_total"), Some(0.0));

    world.chain.set_base_fee(BASE_FEE * 5);
    world.blocks(3).await;
    assert_eq!(values.of("svc_sender_bumps_total"), Some(3.0));
    world.blocks(3).await;
    assert_eq!(values.of("svc_sender_depth"), Some(0.0));
    assert_eq!(values.of("svc_sender_oldest_seconds"), Some(0.0));
    assert_eq!(values.of("svc_sender_reorganised_total"), Some(0.0));

    // The reorganisation goes down to the first of the three blocks.
    world.chain.reorganise(5, Fate::Waiting);
    world.blocks(3).await;
    assert_eq!(values.of("svc_sender_reorganised_total"), Some(3.0));
}

#[tokio::test(start_paused = true)]
async fn the_cause_of_a_hold_shows_while_it_lasts() {
    let values = Values::default();
    let _guard = metrics::set_default_local_recorder(&values);
    let world = World::new();
    world.chain.set_base_fee(u64::try_from(CAP).unwrap() * 5);
    world.chain.mine();
    let sender = world.sender().await;
    submit(&sender, 1).await;
    world.blocks(2).await;
    assert_eq!(values.held("fees_above_cap"), Some(1.0));
    assert_eq!(values.of("svc_sender_depth"), Some(1.0));
    world.chain.set_base_fee(BASE_FEE);
    world.blocks(4).await;
    assert_eq!(values.held("fees_above_cap"), Some(0.0));
    assert_eq!(values.of("svc_sender_depth"), Some(0.0));
}
