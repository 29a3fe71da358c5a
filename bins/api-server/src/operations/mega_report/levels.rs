//! The price levels and the depth of the book of the largest coins. No other section has them.

use data_sources::hyperliquid_info::HyperliquidInfo;
use jiff::Timestamp;
use readings::Extent;
use readings::symbol::SymbolKey;
use serde_json::{Map, Value};

use super::super::token_deep_dive::trade;
use super::draft::Draft;
use crate::answer::Answered;
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;

/// The coins.
const MAJORS: [&str; 3] = ["BTC", "ETH", "SOL"];
/// The section's name.
const SECTION: &str = "levels";
/// The member that a report leaves out: the candles behind the levels.
const LEFT_OUT: &str = "candles";

/// The result for each of the largest coins.
pub(super) type OfMajors = [(&'static str, Result<Answered, ErrorReply>); 3];

/// Reads all coins at the same time.
pub(super) async fn of_majors(
    context: &Context,
    hyperliquid: &HyperliquidInfo,
    call: &Call,
) -> OfMajors {
    let max_age = call.max_age();
    let read = |coin: &'static str| async move {
        // No venue lists another coin under these names.
        let symbol = SymbolKey::new(coin).ok_or_else(|| unlisted(coin))?;
        let whole = Extent::Whole;
        let read = trade::candles(context, hyperliquid, &symbol, None, whole, max_age).await?;
        super::finish(context, call, read)
    };
    let [one, two, three] = MAJORS;
    let (first, second, third) = tokio::join!(read(one), read(two), read(three));
    [(one, first), (two, second), (three, third)]
}

/// Adds the section: an object with a member for each coin. The section is missing if no coin could
/// be read.
pub(super) fn add(draft: &mut Draft, of_majors: OfMajors, now: Timestamp) {
    let mut section = Map::new();
    let mut failed = Vec::new();
    for (coin, read) in of_majors {
        match read {
            Ok(answered) => {
                let place = format!("data.sections.{SECTION}.{coin}");
                let name = format!("{SECTION}.{coin}");
                let mut value = draft.take(&name, &place, None, answered, now);
                if let Value::Object(members) = &mut value {
                    members.remove(LEFT_OUT);
                }
                section.insert(coin.to_owned(), value);
            }
            Err(error) => failed.push((coin, error)),
        }
    }
    if let (true, Some((_, error))) = (section.is_empty(), failed.first()) {
        return draft.missing(SECTION, error);
    }
    for (coin, error) in failed {
        let field = format!("sections.{SECTION}.{coin}");
        draft.report.missing(&field, error.reason(), "");
        section.insert(coin.to_owned(), Value::Null);
    }
    draft
        .sections
        .insert(SECTION.to_owned(), Value::Object(section));
}

fn unlisted(coin: &str) -> ErrorReply {
    super::fault::bad_parameter("symbol", coin)
}
