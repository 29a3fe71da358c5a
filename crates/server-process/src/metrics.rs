//! The metrics of a process: the recorder, its text for `/metrics`, and its upkeep.

use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// The upper bounds of the buckets of every metric whose name ends with `_seconds`.
const SECONDS: [f64; 11] = [
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];

/// The time between two runs of the recorder's upkeep.
const UPKEEP: Duration = Duration::from_secs(5);

/// The media type of [`Metrics::render`].
pub const METRICS_MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The metrics of the process. A server has them in a `static`.
///
/// Call [`Self::install`] before creating a handle: a handle that is created before the recorder is
/// installed records nothing.
#[derive(Debug)]
pub struct Metrics {
    recorder: OnceLock<Option<PrometheusHandle>>,
    begin: fn(),
}

impl Metrics {
    /// Makes metrics without a recorder. When the recorder is installed, `begin` describes the
    /// metrics and creates their series.
    #[must_use]
    pub const fn new(begin: fn()) -> Self {
        Self {
            recorder: OnceLock::new(),
            begin,
        }
    }

    /// Installs the recorder on the first call. Installs none when the process has another
    /// recorder.
    pub fn install(&self) {
        self.recorder();
    }

    /// Returns all series in the text format of Prometheus. `None` when the process has another
    /// recorder.
    pub fn render(&self) -> Option<String> {
        self.recorder().map(PrometheusHandle::render)
    }

    /// Runs the recorder's upkeep again and again, so that samples take no memory while nobody
    /// reads `/metrics`. Never returns.
    pub async fn keep(&self) {
        let mut ticks = tokio::time::interval(UPKEEP);
        loop {
            ticks.tick().await;
            if let Some(recorder) = self.recorder() {
                recorder.run_upkeep();
            }
        }
    }

    fn recorder(&self) -> Option<&PrometheusHandle> {
        self.recorder
            .get_or_init(|| {
                let builder = PrometheusBuilder::new()
                    .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
                    .ok()?;
                let handle = builder.install_recorder().ok()?;
                (self.begin)();
                Some(handle)
            })
            .as_ref()
    }
}

#[cfg(test)]
mod tests {
    use metrics::{counter, histogram};

    use super::*;

    /// This is one test only, because the recorder belongs to the whole process.
    #[test]
    fn series_begin_with_the_recorder_and_times_have_buckets() {
        static OURS: Metrics = Metrics::new(|| counter!("begun_total").increment(0));
        static SECOND: Metrics = Metrics::new(|| counter!("never_total").increment(0));
        OURS.install();
        histogram!("took_seconds").record(0.02);
        let text = OURS.render().unwrap_or_default();
        for line in [
            "begun_total 0",
            "took_seconds_bucket{le=\"0.01\"} 0",
            "took_seconds_bucket{le=\"0.025\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}:\n{text}");
        }
        assert_eq!(SECOND.render(), None);
        assert!(!OURS.render().unwrap_or_default().contains("never_total"));
    }
}
