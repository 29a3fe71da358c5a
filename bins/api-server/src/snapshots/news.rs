//! The news, every hour.

use data_sources::news::NewsDesk;
use data_sources::{Error, Sourced};
use jiff::Timestamp;
use readings::news::Digest;

use super::{Dataset, Gathered, Pace};

/// The news of the last three days, ranked.
#[derive(Debug, Clone)]
pub(crate) struct NewsDigest {
    pub(crate) desk: NewsDesk,
}

impl Dataset for NewsDigest {
    const NAME: &'static str = route_catalog::Dataset::News.name();
    const PACE: Pace = Pace::HOURLY;
    type Value = Digest;

    fn source_ids(&self) -> Vec<&'static str> {
        self.desk.source_ids()
    }

    async fn gather(&self, now: Timestamp) -> Result<Gathered<Digest>, Error> {
        let digest: Sourced<Digest> = self.desk.gather(now).await?;
        let inputs = (digest.value.articles.clone(), digest.value.brief.fear_greed);
        Ok(Gathered::of(digest, &inputs))
    }
}
