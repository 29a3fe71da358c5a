//! The metrics of a process: the recorder, its text for `/metrics`, its upkeep, and the two metrics
//! that both servers have.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::{Counter, counter, gauge};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// The upper bounds of the buckets of every metric whose name ends with `_seconds`.
const SECONDS: [f64; 11] = [
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];

/// The time between two runs of the recorder's upkeep.
const UPKEEP: Duration = Duration::from_secs(5);

/// The media type of [`Metrics::render`].
pub const METRICS_MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The gauge of the build: always 1, with the version as the label `version`.
pub const BUILD_INFO: &str = "svc_build_info";

/// The counter of HTTP answers, with the label `status`.
pub const HTTP_ANSWERS: &str = "svc_http_answers_total";

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

/// Sets [`BUILD_INFO`], and creates the series of [`HTTP_ANSWERS`] with these statuses, so that the
/// first answer shows as an increase.
pub fn begin_series(version: &'static str, statuses: &[&'static str]) {
    gauge!(BUILD_INFO, "version" => version).set(1.0);
    for status in statuses.iter().copied() {
        counter!(HTTP_ANSWERS, "status" => status).increment(0);
    }
}

/// Counts an HTTP answer in [`HTTP_ANSWERS`]. Install the recorder before the first call: the
/// counter of status 200 is looked up once.
pub fn count_answer(status: u16) {
    static OK: OnceLock<Counter> = OnceLock::new();
    if status == 200 {
        OK.get_or_init(|| counter!(HTTP_ANSWERS, "status" => "200"))
            .increment(1);
    } else {
        counter!(HTTP_ANSWERS, "status" => status.to_string()).increment(1);
    }
}

#[cfg(test)]
mod tests {
    use metrics::histogram;

    use super::*;

    /// This is one test only, because the recorder belongs to the whole process.
    #[test]
    fn series_begin_with_the_recorder_and_times_have_buckets() {
        static OURS: Metrics = Metrics::new(|| counter!("begun_total").increment(0));
        static SECOND: Metrics = Metrics::new(|| counter!("never_total").increment(0));
        OURS.install();
        histogram!("took_seconds").record(0.02);
        begin_series("1.2.3", &["200", "503"]);
        for status in [200, 404, 200] {
            count_answer(status);
        }
        let text = OURS.render().unwrap_or_default();
        for line in [
            "begun_total 0",
            "took_seconds_bucket{le=\"0.01\"} 0",
            "took_seconds_bucket{le=\"0.025\"} 1",
            "svc_build_info{version=\"1.2.3\"} 1",
            "svc_http_answers_total{status=\"200\"} 2",
            "svc_http_answers_total{status=\"404\"} 1",
            "svc_http_answers_total{status=\"503\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}:\n{text}");
        }
        assert_eq!(SECOND.render(), None);
        assert!(!OURS.render().unwrap_or_default().contains("never_total"));
    }
}
