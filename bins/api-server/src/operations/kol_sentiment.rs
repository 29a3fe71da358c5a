//! `GET /kol-sentiment`.

use readings::social::leaders;

use super::legs::Legs;
use super::{Call, fault};
use crate::Sources;
use crate::answer::{Answered, Method};
use crate::reply::ErrorReply;

/// Leaders are read every half hour.
const FRESH_SECONDS: u64 = 1800;
/// The window of the leaders' source.
const WINDOW: &str = "24h";

pub(super) async fn answer(sources: &Sources, call: &Call) -> Result<Answered, ErrorReply> {
    let desk = &sources.news;
    let (voices, moods) = tokio::join!(desk.leaders(call.max_age()), desk.moods(call.max_age()));
    let mut legs = Legs::default();
    let tokens = match voices {
        Ok(voices) => legs.got(voices),
        Err(error) => return Err(fault::reply(&error)),
    };
    let mood = legs.take(sources, "overall", moods);
    if mood.is_none() {
        let reason = legs
            .unavailable
            .last()
            .map(|gap| (gap.reason.clone(), gap.source));
        let (reason, source) = reason.unwrap_or_default();
        for field in [
            "by_token[].score",
            "by_token[].label",
            "by_token[].mentions",
        ] {
            legs.missing(field, reason.clone(), source);
        }
    }
    let told = leaders(&tokens, mood.as_ref(), WINDOW)
        .ok_or_else(|| fault::core_missing("kols", "no_opinion_leaders"))?;
    Ok(Answered::new(told, FRESH_SECONDS)
        .with_legs(legs)
        .origin("top_voices", "okx.vibe", Method::Direct)
        .origin("by_token", "okx.sentiment", Method::Derived)
        .origin("overall", "okx.sentiment", Method::Derived))
}
