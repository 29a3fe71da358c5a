//! `POST /auto-swap`, `/auto-bridge`, `/auto-withdraw`, `/auto-defi-invest`, `/auto-defi-withdraw`:
//! actions of the payer's sub-wallet.
//!
//! The intent is durable before the first signature, and its result before the charge. A call is
//! charged when a transaction of the sub-wallet is in a block, or is pending when the payment's
//! window or the call's time ends and nothing holds it up.

use std::time::Duration;

use data_sources::Provenance;
use route_catalog::{ErrorCode, Operation, Parameters};
use tokio::time::Instant;
use wallet_actions::{
    Action, BridgeOrder, DivestOrder, GivenUp, Intent, InvestOrder, Order, Principal, Size, State,
    SwapOrder, WalletActions, WithdrawOrder,
};

use crate::answer::{Answered, Status};
use crate::call::Call;
use crate::context::Context;
use crate::payment::KeptCall;
use crate::reply::ErrorReply;
use crate::sources::Wallets;
use crate::wallets::{intent_view, refused, still_held, without_effect};

/// The source of an action's result.
const SOURCE: &str = "wallet.intents";

/// The part of a call's time that is reserved for its answer.
const RESERVED: Duration = Duration::from_secs(5);

pub(super) async fn answer(
    context: &Context,
    wallets: &Wallets,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let Some(actions) = &wallets.actions else {
        return Err(super::sub_wallet::not_acting(wallets, call));
    };
    let action = action(call.operation, &call.parameters)?;
    carry_out(context, wallets, actions, call, action).await
}

/// Begins an action and answers with its result.
pub(super) async fn carry_out(
    context: &Context,
    wallets: &Wallets,
    actions: &WalletActions,
    call: &Call,
    action: Action,
) -> Result<Answered, ErrorReply> {
    carry_out_since(Instant::now(), context, wallets, actions, call, action).await
}

/// Like [`carry_out`], for a call whose work began at `since`. The time before the action counts as
/// well.
pub(super) async fn carry_out_since(
    since: Instant,
    context: &Context,
    wallets: &Wallets,
    actions: &WalletActions,
    call: &Call,
    action: Action,
) -> Result<Answered, ErrorReply> {
    let kept = call.kept.as_deref().unwrap_or_default();
    let order = Order {
        owner: wallets.owner(call.payer),
        owner_is_key: call.payment.by_key,
        payment: call.payment.digest,
        claim: call.claim.clone(),
        begin_by: Some(call.payment.work_until),
        call: kept.to_owned(),
        purchase: KeptCall::purchase(kept),
        price_micro_usd: call.operation.route().price.atomic(),
        charge: Some(call.payment.charge),
        action,
        principal: principal(&call.parameters)?,
        deadline: call.parameters.timestamp_ms("deadline").map(|ms| ms / 1000),
        max_slippage_bps: None,
        max_price_impact_bps: call
            .parameters
            .integer("max_price_impact_bps")
            .and_then(|bps| u32::try_from(bps).ok()),
    };
    let until = time_left(since, actions, call);
    let begun = Box::pin(actions.begin(&order)).await;
    let intent = begun.map_err(|error| refused(&error))?;
    if !KeptCall::are_of_one_request(&intent.call, &order.call) {
        let message = "this payment has begun another action";
        return Err(ErrorReply::new(ErrorCode::PaymentBoundElsewhere, message)
            .detail("reason", "another_request")
            .detail("intent_id", intent.id.as_str()));
    }
    let unavailable = |error: wallet_actions::StoreError| {
        ErrorReply::new(ErrorCode::UpstreamUnavailable, error.to_string())
            .detail("reason", error.code())
    };
    let waited = actions.wait(&intent.id, until).await.map_err(unavailable)?;
    let intent = waited.unwrap_or(intent);
    let intent = match intent.state {
        State::Running => give_up(actions, &intent).await?,
        _ => intent,
    };
    if intent.state.is_over() && !intent.has_effect() {
        return Err(without_effect(&intent));
    }
    if let Some(held) = still_held(&intent) {
        return Err(held);
    }
    let status = match intent.state.is_over() {
        true => Status::Ok,
        false => Status::Accepted,
    };
    let mut answered = Answered::new(intent_view(&intent), 0);
    answered.as_of = Some(context.now());
    answered.sources = vec![Provenance::local(SOURCE, context.now())];
    answered.status = status;
    Ok(answered)
}

/// The deadline of the call: the end of its own time or of its payment's window, whichever comes
/// first.
fn time_left(since: Instant, actions: &WalletActions, call: &Call) -> Instant {
    let work = Duration::from_secs(call.operation.route().work_seconds);
    let window = call.payment.work_until.saturating_sub(actions.now());
    let of_work = since + work.saturating_sub(RESERVED);
    of_work.min(Instant::now() + Duration::from_secs(window).saturating_sub(RESERVED))
}

/// Handles an intent that is not finished when the time is over: cancels it if nothing was signed.
/// A pending transaction is charged unless something holds it up.
async fn give_up(actions: &WalletActions, intent: &Intent) -> Result<Intent, ErrorReply> {
    let given_up = actions.give_up(&intent.id, "not_begun_in_time").await;
    match given_up.map_err(|error| refused(&error))? {
        Some(GivenUp::Cancelled(cancelled)) => Err(without_effect(&cancelled)),
        Some(GivenUp::TooLate(intent)) => Ok(intent),
        None => Ok(intent.clone()),
    }
}

/// Reads the action from the parameters. The catalog has judged them. A missing parameter is this
/// server's fault, and the action is refused instead of guessed.
fn action(operation: Operation, parameters: &Parameters) -> Result<Action, ErrorReply> {
    let chain = |name| {
        let chain = parameters.chain(name).map(|chain| chain.id);
        required(name, chain)
    };
    let address = |name| required(name, parameters.address(name));
    let optional = |name| parameters.text(name).map(str::to_owned);
    let text = |name| required(name, optional(name));
    Ok(match operation {
        Operation::AutoSwap => Action::Swap(SwapOrder {
            chain_id: chain("chain_id")?,
            from_token: address("from_token")?,
            to_token: address("to_token")?,
            amount: text("amount")?,
            slippage_pct: text("slippage")?,
        }),
        Operation::AutoBridge => Action::Bridge(BridgeOrder {
            from_chain: chain("from_chain")?,
            to_chain: chain("to_chain")?,
            token: address("token")?,
            amount: text("amount")?,
            recipient: parameters.address("recipient"),
        }),
        Operation::AutoWithdraw => Action::Withdraw(WithdrawOrder {
            chain_id: chain("chain_id")?,
            token: address("token")?,
            amount: Some(text("amount")?).filter(|amount| amount != "max"),
        }),
        Operation::AutoDefiInvest => Action::Invest(InvestOrder {
            chain_id: chain("chain_id")?,
            protocol: text("protocol")?,
            asset: text("asset")?,
            amount: text("amount")?,
            product_id: optional("product_id"),
            min_shares: optional("min_shares"),
        }),
        Operation::AutoDefiWithdraw => Action::Divest(DivestOrder {
            product: match optional("position_id") {
                Some(position) => position,
                None => text("product_id")?,
            },
            size: match optional("ratio") {
                Some(ratio) => Size::Ratio(ratio),
                None => Size::Amount(text("amount")?),
            },
        }),
        other => {
            let message = format!("{other} is not an action of a wallet");
            return Err(ErrorReply::new(ErrorCode::Internal, message));
        }
    })
}

/// The authorization that moves the principal, if there is one.
fn principal(parameters: &Parameters) -> Result<Option<Principal>, ErrorReply> {
    let Some(given) = parameters.object("principal_auth") else {
        return Ok(None);
    };
    let authorization = required("authorization", given.object("authorization"))?;
    let address = |name| required(name, authorization.address(name));
    let uint = |name| required(name, authorization.uint(name));
    Ok(Some(Principal {
        signature: required("signature", given.bytes("signature"))?.clone(),
        from: address("from")?,
        to: address("to")?,
        value: uint("value")?,
        valid_after: uint("validAfter")?,
        valid_before: uint("validBefore")?,
        nonce: required("nonce", authorization.hash("nonce"))?,
    }))
}

/// Reads a parameter that the catalog requires.
fn required<T>(name: &str, value: Option<T>) -> Result<T, ErrorReply> {
    value.ok_or_else(|| {
        tracing::error!(name, "a parameter that the catalog requires is missing");
        let message = format!("{name}: a parameter that the catalog requires is missing");
        ErrorReply::new(ErrorCode::Internal, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(operation: Operation, body: &str) -> Parameters {
        operation.route().parse(None, body.as_bytes()).unwrap()
    }

    #[test]
    fn required_parameters_have_no_default() {
        let token = "0x779Ded0c9e1022225f8E0630b35a9b54bE713736";
        let body = format!(r#"{{"chain_id":"196","token":"{token}","amount":"max"}}"#);
        let withdrawal = parsed(Operation::AutoWithdraw, &body);
        let read = action(Operation::AutoWithdraw, &withdrawal).unwrap();
        let Action::Withdraw(order) = read else {
            panic!("{read:?}");
        };
        assert_eq!((order.chain_id, order.amount), (196, None));
        // With the parameters of another operation something is missing, and no default replaces
        // it.
        for other in [
            Operation::AutoSwap,
            Operation::AutoBridge,
            Operation::AutoDefiInvest,
            Operation::AutoDefiWithdraw,
            Operation::SubWallet,
        ] {
            let error = action(other, &withdrawal).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Internal, "{other}");
        }
        assert!(principal(&withdrawal).unwrap().is_none());
    }

    #[test]
    fn an_omitted_slippage_is_the_catalog_s_default() {
        let (from, to) = (
            "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
            "0xe538905cf8410324e03A5A23C1c177a474D59b2b",
        );
        let body = format!(
            r#"{{"chain_id":"196","from_token":"{from}","to_token":"{to}","amount":"25.5"}}"#
        );
        let read = action(Operation::AutoSwap, &parsed(Operation::AutoSwap, &body)).unwrap();
        let Action::Swap(order) = read else {
            panic!("{read:?}");
        };
        assert_eq!(
            (order.slippage_pct.as_str(), order.amount.as_str()),
            ("1", "25.5")
        );
    }
}
