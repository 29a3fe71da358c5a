//! `GET /hyperliquid-account`: the margin, positions and orders of a Hyperliquid account, at the
//! venue's own dex or a named one, and at those of other deployers. The first dex is the core;
//! another one that does not answer is listed as unavailable.

use data_sources::hyperliquid_info::HyperliquidInfo;
use data_sources::{Error, Meter, Sourced};
use std::time::Duration;

use alloy_primitives::Address;
use readings::derivatives::Account;
use serde_json::json;
use tokio::task::JoinSet;

use super::fault;
use crate::answer::{Answered, Method};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;

/// For how many seconds an account counts as fresh. It is read again after five seconds.
const FRESH_SECONDS: u64 = 10;
const ACCOUNT: &str = "hyperliquid.account";
const ORDERS: &str = "hyperliquid.open-orders";

pub(super) async fn answer(
    context: &Context,
    venue: &HyperliquidInfo,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let user = call.address_or_own()?;
    let max_age = call.max_age();
    let asked = call.parameters.text("dex").map(str::trim);
    let main = asked.unwrap_or_default();
    let mut report = SourceReport::default();
    let (account, role, spot, others) = tokio::join!(
        venue.account(user, main, max_age),
        venue.role(user, max_age),
        venue.spot_balances(user, max_age),
        others(venue, user, asked, max_age),
    );
    let account = report.accept(account.map_err(|error| fault::reply(&error))?);
    let role = report.take(context, "role", role);
    let spot = report.take(context, "spot_balances", spot);
    let mut accounts = vec![account];
    match others {
        Ok(answers) => {
            for (dex, answer) in answers {
                let field = format!("positions[dex={dex}]");
                accounts.extend(
                    report
                        .take(context, &field, answer)
                        .filter(|account| !account.is_empty()),
                );
            }
        }
        // The list of dexes is unavailable: the answer shows only positions at the venue's own dex.
        Err(error) => {
            report.take::<()>(context, "other_dexes", Err(error));
        }
    }
    // An order needs collateral, so only dexes that hold some are asked. Each such request costs as
    // much as ten accounts.
    let dexes: Vec<_> = accounts.iter().map(|account| account.dex.clone()).collect();
    let mut orders = Vec::new();
    let mut with_orders = Vec::new();
    for dex in &dexes {
        let field = format!("open_orders[dex={dex}]");
        if let Some(of_dex) =
            report.take(context, &field, venue.open_orders(user, dex, max_age).await)
        {
            orders.extend(of_dex.iter().cloned());
            with_orders.push(dex);
        }
    }
    let (first, rest) = accounts
        .split_first()
        .map_or((None, &[][..]), |(first, rest)| (Some(first), rest));
    let data = json!({
        "address": user.to_string(),
        "role": role,
        "margin_summary": first.map(|account| &account.margin),
        "other_dexes": rest.iter().map(|account| &account.margin).collect::<Vec<_>>(),
        "positions": accounts.iter().flat_map(|account| &account.positions).collect::<Vec<_>>(),
        "spot_balances": spot.as_deref(),
        "open_orders": orders,
        "open_orders_of": with_orders,
    });
    let has_orders = report.has(ORDERS);
    let mut answered = Answered::new(data, FRESH_SECONDS)
        .with_report(report)
        .origin("margin_summary", ACCOUNT, Method::Direct)
        .origin("positions", ACCOUNT, Method::Direct);
    if has_orders {
        answered = answered.origin("open_orders", ORDERS, Method::Direct);
    }
    // `null` here means that nothing can liquidate the position, or that the order has no trigger.
    answered.none = &["liquidation_px", "trigger_px"];
    Ok(answered)
}

/// The account at one dex, or the failure.
type OfDex = (String, Result<Sourced<Account>, Error>);

/// Reads the account at every dex of other deployers, unless the call names one dex.
async fn others(
    venue: &HyperliquidInfo,
    user: Address,
    asked: Option<&str>,
    max_age: Option<Duration>,
) -> Result<Vec<OfDex>, Error> {
    if asked.is_some() {
        return Ok(Vec::new());
    }
    let dexs = venue.dexs(None).await?;
    let mut calls = JoinSet::new();
    for dex in dexs.value.iter().cloned() {
        let venue = venue.clone();
        calls.spawn(Meter::carry(async move {
            let account = venue.account(user, &dex, max_age).await;
            (dex, account)
        }));
    }
    let mut answers = calls.join_all().await;
    answers.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(answers)
}
