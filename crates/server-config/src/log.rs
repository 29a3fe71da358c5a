//! Starts the log, and keeps payloads out of it.

mod json;

use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::filter::{EnvFilter, FilterExt, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::JsonFields;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

use self::json::JsonLines;
use crate::{LogFormat, LogSection};

/// Libraries whose `trace` events contain requests, with their signatures and keys.
const TALKATIVE: [&str; 2] = ["h2", "hyper"];

/// Starts the log on standard error. Does nothing when the process already has a log.
pub fn start_log(section: &LogSection) {
    let filter = section
        .filter
        .clone()
        .or_else(|| std::env::var("RUST_LOG").ok());
    let filter = EnvFilter::try_new(filter.as_deref().unwrap_or("info"))
        .unwrap_or_else(|_| EnvFilter::new("info"));
    let filter = filter.and(filter_fn(holds_no_payload));
    let registry = tracing_subscriber::registry();
    let started = match section.format {
        LogFormat::Text => registry
            .with(
                fmt::layer()
                    .with_writer(std::io::stderr)
                    .with_target(false)
                    .with_filter(filter),
            )
            .try_init(),
        LogFormat::Json => registry
            .with(json_layer(std::io::stderr).with_filter(filter))
            .try_init(),
    };
    drop(started);
}

fn json_layer<S, W>(writer: W) -> impl Layer<S>
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    W: for<'writer> MakeWriter<'writer> + 'static,
{
    fmt::layer()
        .with_writer(writer)
        .fmt_fields(JsonFields::new())
        .event_format(JsonLines)
}

/// Whether an event holds no payload. Other events are dropped, whatever filter the operator sets.
fn holds_no_payload(metadata: &Metadata<'_>) -> bool {
    *metadata.level() != Level::TRACE
        || !TALKATIVE
            .iter()
            .any(|library| metadata.target().starts_with(library))
}
