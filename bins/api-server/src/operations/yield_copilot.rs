//! `POST /yield-copilot`: the best places for an amount of an asset, with the transactions that
//! deposit it there.
//!
//! The products are those of the operator's reviewed list. Without `execute` the transactions are
//! unsigned and bound to the payer's own address, and no key is needed. With `execute` the first
//! plan is carried out from the payer's sub-wallet, and the call answers like an action. A product
//! that does not fit, or about which a fact is unknown, is left out and listed.

mod ranking;
mod view;

use readings::defi::grade::Appetite;
use readings::symbol::SymbolKey;
use route_catalog::ErrorCode;
use serde_json::{Value, json};
use tokio::time::Instant;
use wallet_actions::{Action, Intent, InvestOrder, ListedProduct, WalletActions};

use self::ranking::{LeftOut, Ranking, ranking};
use super::actions::carry_out_since;
use super::fault;
use super::yield_recommendations::appetite;
use crate::answer::Answered;
use crate::call::Call;
use crate::context::Context;
use crate::offering::NO_PRODUCTS;
use crate::reply::ErrorReply;
use crate::sources::{Chain, Defi, Wallets};

/// The request.
struct Wish<'a> {
    asset: SymbolKey,
    /// The amount in whole tokens, as the caller wrote it.
    amount: &'a str,
    risk: &'a str,
    appetite: Appetite,
    /// The chains; `None` means all.
    chains: Option<Vec<u64>>,
}

pub(super) async fn answer(
    context: &Context,
    wallets: &Wallets,
    chain: &Chain,
    defi: &Defi,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let since = Instant::now();
    let executes = call.parameters.boolean("execute").unwrap_or_default();
    let actions = match (executes, &wallets.actions) {
        (false, _) => None,
        (true, Some(actions)) => Some(actions),
        (true, None) => return Err(super::sub_wallet::not_acting(wallets, call)),
    };
    if let Some(actions) = actions
        && let Some(order) = bought(actions, call).await?
    {
        let action = Action::Invest(order);
        return carry_out_since(since, context, wallets, actions, call, action).await;
    }
    if wallets.reviewed.is_empty() {
        let message = "this server has no reviewed product for deposits";
        return Err(ErrorReply::new(ErrorCode::UpstreamUnavailable, message)
            .detail("reason", NO_PRODUCTS)
            .retryable(false));
    }
    let mut wish = wish(call)?;
    if executes {
        // A wallet acts only on the chains of wallets.
        let of_wallets = wallets.chains.iter().copied();
        let asked = |id: &u64| wish.chains.as_ref().is_none_or(|ids| ids.contains(id));
        wish.chains = Some(of_wallets.filter(asked).collect());
    }
    let ranking = Box::pin(ranking(context, wallets, chain, defi, call, &wish)).await?;
    let Some(first) = ranking.plans.first() else {
        return Err(no_plan(&ranking));
    };
    match actions {
        Some(actions) => {
            let action = Action::Invest(invest(&first.product, wish.amount));
            carry_out_since(since, context, wallets, actions, call, action).await
        }
        None => Ok(view::answered(context, call, &wish, ranking)),
    }
}

fn wish(call: &Call) -> Result<Wish<'_>, ErrorReply> {
    let text = |name: &str| call.parameters.text(name);
    let asset = text("asset").and_then(SymbolKey::new);
    let chains = call.parameters.chains("chains");
    Ok(Wish {
        asset: asset.ok_or_else(|| {
            let message = "expected a symbol";
            let problem = json!({"path": "body.asset", "code": "invalid", "message": message});
            ErrorReply::new(ErrorCode::InvalidParams, message).detail("problems", vec![problem])
        })?,
        amount: text("amount").unwrap_or_default(),
        risk: text("risk").unwrap_or("low"),
        appetite: appetite(text("risk")),
        chains: chains.map(|chains| chains.iter().map(|chain| chain.id).collect()),
    })
}

/// The order that this payment has bought before, because the ranking may have changed since.
async fn bought(actions: &WalletActions, call: &Call) -> Result<Option<InvestOrder>, ErrorReply> {
    let known = actions.of_payment(call.payment.digest).await;
    let known = known.map_err(|error| {
        ErrorReply::new(ErrorCode::UpstreamUnavailable, error.to_string())
            .detail("reason", error.code())
    })?;
    Ok(known.filter(Intent::may_have_effect).map(|intent| {
        let text = |name: &str| {
            let value = intent.plan.get(name).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        InvestOrder {
            chain_id: intent
                .plan
                .get("chain_id")
                .and_then(Value::as_u64)
                .unwrap_or_default(),
            protocol: text("protocol"),
            asset: text("asset"),
            amount: text("amount"),
            product_id: Some(text("product_id")),
            min_shares: None,
        }
    }))
}

fn invest(product: &ListedProduct, amount: &str) -> InvestOrder {
    InvestOrder {
        chain_id: product.chain_id,
        protocol: product.protocol.to_owned(),
        asset: product.asset.to_string(),
        amount: amount.to_owned(),
        product_id: Some(product.product_id.clone()),
        min_shares: None,
    }
}

/// The error without a plan; nothing is sold then. If a fact was unavailable, the call may be
/// repeated.
fn no_plan(ranking: &Ranking) -> ErrorReply {
    let rows: Vec<Value> = ranking.left_out.iter().map(view::left_out).collect();
    let unread = ranking.left_out.iter().find(|left_out| left_out.is_gap);
    let refused = match unread {
        Some(LeftOut { reason, .. }) => fault::core_missing("plans", reason.clone()),
        None => {
            let message = "no reviewed product fits the amount and the risk";
            ErrorReply::new(ErrorCode::NotFound, message).detail("reason", "no_plan")
        }
    };
    refused.detail("left_out", rows)
}
