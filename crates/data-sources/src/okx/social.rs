//! News, sentiment and opinion leaders: `/api/v6/dex/market/social/…`.
//!
//! Times are numbers of milliseconds here, but strings elsewhere at OKX. Counts and ratios come as
//! either. Texts of posts are never read: only their places and their reach.

mod mood;
mod news;
mod voices;

use jiff::{SignedDuration, Timestamp};
use readings::{
    Figure,
    news::Article,
    social::{Mood, Voice},
    symbol::SymbolKey,
};
use url::form_urlencoded;

use super::Okx;
use crate::{
    error::{Error, SourceError, SourceErrorKind},
    news::SocialToken,
    provenance::Sourced,
};

const NEWS: &str = "okx.news";
const SENTIMENT: &str = "okx.sentiment";
const VIBE: &str = "okx.vibe";

const ROOT: &str = "/api/v6/dex/market/social";
/// How many articles are asked for: a whole page.
const ARTICLES: u8 = 50;
/// How many tokens of a ranking are asked for.
const RANKED: u8 = 50;
/// How many sections of a trend are asked for.
const STRETCHES: u8 = 24;
/// A day, in the numbering of sentiments.
const DAY: u8 = 3;
/// A day, in the numbering of vibes.
const VIBE_DAY: u8 = 1;
/// Most leaders that are read for one token.
const LEADERS: u8 = 50;
/// How far a time may be ahead of our clock.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

impl Okx {
    /// The newest articles.
    ///
    /// # Errors
    ///
    /// A [`SourceError`].
    pub async fn latest_news(&self) -> Result<Sourced<Vec<Article>>, SourceError> {
        let path = format!("{ROOT}/news/latest?limit={ARTICLES}&detailLevel=1&language=en_US");
        self.articles(&path).await
    }

    /// The newest articles that OKX connects with `symbol`; others are left out.
    ///
    /// # Errors
    ///
    /// A [`SourceError`].
    pub async fn news_of(&self, symbol: &SymbolKey) -> Result<Sourced<Vec<Article>>, SourceError> {
        let name = encoded(symbol.as_str());
        let path = format!(
            "{ROOT}/news/by-symbol?tokenSymbols={name}&sortBy=1&limit={ARTICLES}&detailLevel=1&language=en_US"
        );
        let mut found = self.articles(&path).await?;
        found
            .value
            .retain(|article| article.symbols.iter().any(|of| symbol.names(of)));
        Ok(found)
    }

    /// The newest articles in which OKX finds `keyword`.
    ///
    /// # Errors
    ///
    /// A [`SourceError`].
    pub async fn news_search(&self, keyword: &str) -> Result<Sourced<Vec<Article>>, SourceError> {
        let keyword = encoded(keyword);
        let path = format!(
            "{ROOT}/news/search?keyword={keyword}&sortBy=1&limit={ARTICLES}&detailLevel=1&language=en_US"
        );
        self.articles(&path).await
    }

    /// The most discussed tokens within a day, with their mood.
    ///
    /// # Errors
    ///
    /// A [`SourceError`].
    pub async fn moods(&self) -> Result<Sourced<Mood>, SourceError> {
        let path = format!("{ROOT}/sentiment/ranking?timeFrame={DAY}&sortBy=1&limit={RANKED}");
        self.mood(&path).await
    }

    /// The mood about one symbol within a day, with its trend.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] with the reason `symbol_not_found` when OKX answers and does not know
    /// the symbol or knows several tokens of that symbol, otherwise a [`SourceError`].
    pub async fn mood_of(&self, symbol: &SymbolKey) -> Result<Sourced<Mood>, Error> {
        let mut found = self.moods_of(&[symbol.as_str()]).await?;
        let one = found
            .value
            .of(symbol)
            .cloned()
            .ok_or_else(|| Error::NotFound {
                reason: "symbol_not_found",
                message: format!("no sentiment is known for {symbol}"),
            })?;
        found.value.tokens = vec![one];
        Ok(found)
    }

    /// The mood about some symbols within a day, with its trend; symbols that OKX does not know are
    /// left out.
    ///
    /// # Errors
    ///
    /// A [`SourceError`].
    pub async fn moods_of(&self, symbols: &[&str]) -> Result<Sourced<Mood>, SourceError> {
        let names = encoded(&symbols.join(","));
        let path = format!(
            "{ROOT}/sentiment/symbol?tokenSymbols={names}&timeFrame={DAY}&trendPoints={STRETCHES}"
        );
        self.mood(&path).await
    }

    /// The opinion leaders who posted about a token within a day, at most fifty. A Solana token is
    /// named by its base58 address.
    ///
    /// # Errors
    ///
    /// A [`SourceError`].
    pub async fn leaders_of(
        &self,
        token: &SocialToken,
    ) -> Result<Sourced<Vec<Voice>>, SourceError> {
        let (chain, address) = (token.chain_index, token.contract);
        let path = format!(
            "{ROOT}/vibe/top-kols?chainIndex={chain}&tokenAddress={address}&sortBy=1&timeFrame={VIBE_DAY}&limit={LEADERS}"
        );
        let now = self.now();
        let found = self.read::<voices::Data>(VIBE, &path, None).await?;
        self.judged(found, |data| voices::voices(data, now))
    }

    async fn articles(&self, path: &str) -> Result<Sourced<Vec<Article>>, SourceError> {
        let now = self.now();
        let found = self.read::<news::Data>(NEWS, path, None).await?;
        self.judged(found, |data| news::read(NEWS, &data, now))
    }

    async fn mood(&self, path: &str) -> Result<Sourced<Mood>, SourceError> {
        let now = self.now();
        let found = self.read::<mood::Data>(SENTIMENT, path, None).await?;
        let found = self.judged(found, |data| mood::read(data, now))?;
        let as_of = found.value.as_of;
        Ok(found.as_of(Some(as_of)))
    }

    fn judged<T, U>(
        &self,
        found: Sourced<T>,
        judge: impl FnOnce(T) -> Result<U, SourceErrorKind>,
    ) -> Result<Sourced<U>, SourceError> {
        let source = found.sources.first().map_or(NEWS, |source| source.source);
        let judged = self.source.counting(source, || judge(found.value));
        let value = judged.map_err(|kind| self.reject_response(source, kind))?;
        Ok(Sourced {
            value,
            sources: found.sources,
        })
    }
}

/// A count that is a non-negative integer; any other figure is unknown.
fn count(figure: Option<Figure>) -> Option<u64> {
    let figure = figure?.0;
    let small = u64::try_from(figure).ok()?;
    (figure.is_integer() && small < 1 << 53).then_some(small)
}

/// A share between 0 and 1; any other figure is unknown.
fn ratio(figure: Option<Figure>) -> Option<Figure> {
    figure.filter(|figure| (readings::Decimal::ZERO..=readings::Decimal::ONE).contains(&figure.0))
}

/// Milliseconds since the epoch, not later than `now` by more than clocks may differ.
fn past_millis(figure: Option<Figure>, now: Timestamp) -> Option<Timestamp> {
    let time = millis(figure)?;
    (time.duration_since(now) <= TOLERANCE).then(|| time.min(now))
}

fn millis(figure: Option<Figure>) -> Option<Timestamp> {
    let millis = i64::try_from(figure?.0).ok()?;
    Timestamp::from_millisecond(millis).ok()
}

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
