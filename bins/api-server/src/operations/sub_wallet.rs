//! `GET /sub-wallet`, which alone makes wallets, and the payer's own wallet as the default address
//! of other routes.

use std::collections::BTreeMap;

use alloy_primitives::hex;
use custody::{Custody, CustodyError, Owner, Wallet};
use data_sources::{Meter, Provenance};
use jiff::Timestamp;
use route_catalog::{ErrorCode, Operation};
use serde_json::{Value, json};

use super::portfolio;
use crate::answer::{Answered, Method, Origin, Part, seconds};
use crate::call::Call;
use crate::context::Context;
use crate::observe;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::{Accounts, Wallets};

/// For how many seconds an answer counts as fresh. Balances and nonces may change with every block.
const FRESH_SECONDS: u64 = 15;

/// The source of the payer's wallet address.
const SOURCE: &str = "custody";

/// Answers with the payer's sub-wallet. Creates it if there is none, because the payment of this
/// call is verified.
pub(super) async fn answer(
    context: &Context,
    wallets: &Wallets,
    accounts: &Accounts,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let Some(custody) = &wallets.custody else {
        return Err(no_custody(call));
    };
    let owner = wallets.owner(call.payer);
    let wallet = get_or_create(custody.as_ref(), owner).await?;
    let mut report = SourceReport::default();
    report
        .sources
        .push(Provenance::local(SOURCE, context.now()));
    let (balances, nonces) = tokio::join!(
        portfolio::balances(context, accounts, wallet.address, &wallets.chains),
        nonces(accounts, wallets, &wallet),
    );
    let mut parts = vec![Part::at("sub_wallet", context.now(), FRESH_SECONDS)];
    let balances = match balances {
        Ok(balances) => {
            parts.extend(balances.parts);
            report.join(balances.report);
            serde_json::to_value(&balances.portfolio.chains).unwrap_or_default()
        }
        Err(_) => {
            report.missing("balances", "no_node_answers", SOURCE);
            Value::Null
        }
    };
    let mut nonce_state = BTreeMap::new();
    for (chain, nonce) in nonces {
        match nonce {
            Ok(sourced) => {
                let nonce = report.accept(sourced);
                nonce_state.insert(chain.to_string(), json!(nonce));
            }
            Err(error) => {
                report.failed(context, &error);
                let source = data_sources::evm::source(chain);
                report.missing(&format!("nonce_state.{chain}"), "no_node_answers", source);
                nonce_state.insert(chain.to_string(), Value::Null);
            }
        }
    }
    let provider = wallet.provider;
    // The attestation is evidence for callers that do not trust this process. A `local` custodian
    // has none.
    let attestation = match custody.attest(owner).await {
        Ok(attestation) => attestation.and_then(|it| {
            let evidence = hex::encode_prefixed(it.evidence?);
            Some(json!({ "statement": it.statement, "evidence": evidence }))
        }),
        Err(error) => {
            report.missing("custody.attestation", error.code(), SOURCE);
            None
        }
    };
    // A wallet whose key was exported signs nothing here.
    let signs: &[&str] = match (wallet.exported, &wallets.actions) {
        (true, _) => &[],
        (false, None) => &["delegated_swaps"],
        (false, Some(_)) => &["delegated_swaps", "actions"],
    };
    let data = json!({
        "owner": wallet.owner.to_string().to_lowercase(),
        "sub_wallet": wallet.address.to_string(),
        "provisioned_at": wallet.created_at.and_then(time),
        "custody": {
            "provider": provider.as_str(),
            "trusted_execution_environment": provider.is_trusted_environment(),
            "keys_are": provider.holds(),
            "attestation": attestation,
            "exported": wallet.exported,
        },
        "chains": wallets.chains,
        "balances": balances,
        "nonce_state": nonce_state,
        "policy": {"withdraw_to": "owner", "signs": signs},
    });
    let answered = Answered {
        origins: vec![Origin::new("data", SOURCE, Method::Direct)],
        as_of: Some(context.now()),
        none: &["data.custody.attestation", "data.provisioned_at"],
        ..Answered::of_parts(data, parts).with_report(report)
    };
    Ok(answered)
}

/// The owner's wallet, made now if there is none. The call pays for a new one even when it ends
/// uncharged.
async fn get_or_create(custody: &dyn Custody, owner: Owner) -> Result<Wallet, ErrorReply> {
    let found = custody.find(owner).await;
    if let Some(wallet) = found.map_err(|error| unavailable(&error))? {
        return Ok(wallet);
    }
    let kept = Meter::count_kept();
    match custody.get_or_create(owner).await {
        Ok(wallet) => {
            kept.stays();
            Ok(wallet)
        }
        Err(error) => {
            match error {
                // It may have been made.
                CustodyError::Interrupted
                | CustodyError::Io { .. }
                | CustodyError::Records { .. }
                | CustodyError::ProviderUnavailable { .. }
                | CustodyError::ProviderMalformed { .. } => kept.stays(),
                _ => kept.was_not_made(),
            }
            Err(unavailable(&error))
        }
    }
}

/// The number of the wallet's transactions on each chain.
async fn nonces(
    accounts: &Accounts,
    wallets: &Wallets,
    wallet: &Wallet,
) -> Vec<(u64, Result<data_sources::Sourced<u64>, data_sources::Error>)> {
    let mut nonces = Vec::new();
    for chain in &wallets.chains {
        let nonce = accounts.evm.transaction_count(*chain, wallet.address).await;
        nonces.push((*chain, nonce));
    }
    nonces
}

/// Adds the payer's sub-wallet to the call if the operation is about that wallet or uses it as the
/// default address. Refuses a call that acts with the wallet when there is none, before anything is
/// read or planned for it. Never creates a wallet.
pub(super) async fn with_own(wallets: &Wallets, call: &Call) -> Result<Option<Call>, ErrorReply> {
    if let (Some(custody), Some(_)) = (&wallets.custody, &wallets.actions)
        && acts(call)
    {
        return match custody.find(wallets.owner(call.payer)).await {
            Ok(None) => Err(ErrorReply::no_sub_wallet()),
            Ok(Some(_)) => Ok(None),
            // A mandate has no later look at the wallet. An action has one, and an action that this
            // payment has begun before needs none.
            Err(error) if call.operation == Operation::CreateYieldWatch => Err(unavailable(&error)),
            Err(_) => Ok(None),
        };
    }
    let takes_own = matches!(
        call.operation,
        Operation::Portfolio
            | Operation::IdleCapital
            | Operation::YieldFarmingActive
            | Operation::YieldFarmingHistorical
            | Operation::HyperliquidAccount
            | Operation::HlTransactionHistory
    );
    let Some(custody) = wallets.custody.as_ref().filter(|_| takes_own) else {
        return Ok(None);
    };
    let is_history = call.operation == Operation::YieldFarmingHistorical;
    let named = match is_history {
        true => call.parameters.text("pool").is_some(),
        false => call.parameters.address("address").is_some(),
    };
    if named {
        return Ok(None);
    }
    let owner = wallets.owner(call.payer);
    let wallet = custody
        .find(owner)
        .await
        .map_err(|error| unavailable(&error))?;
    Ok(Some(Call {
        sub_wallet: wallet.map(|wallet| wallet.address),
        ..call.clone()
    }))
}

/// Whether the call acts with the payer's wallet, now or later.
fn acts(call: &Call) -> bool {
    match call.operation {
        Operation::AutoSwap
        | Operation::AutoBridge
        | Operation::AutoWithdraw
        | Operation::AutoDefiInvest
        | Operation::AutoDefiWithdraw => true,
        Operation::YieldCopilot => call.parameters.boolean("execute").unwrap_or_default(),
        Operation::CreateYieldWatch => call.parameters.text("mode") == Some("auto"),
        _ => false,
    }
}

/// The error without custody: no wallet can act.
pub(super) fn no_custody(call: &Call) -> ErrorReply {
    tracing::debug!(payer = %call.payer, operation = %call.operation, "no custody is connected");
    let message = format!(
        "no custody provider is connected for {}",
        call.operation.route().path
    );
    ErrorReply::new(ErrorCode::UpstreamUnavailable, message)
        .detail("reason", "no_custody_connected")
        .retryable(false)
}

/// The error when wallets cannot act: no custody is connected, or no chain of theirs has a node.
pub(super) fn not_acting(wallets: &Wallets, call: &Call) -> ErrorReply {
    match wallets.custody {
        None => no_custody(call),
        Some(_) => no_chain(call),
    }
}

/// The error when custody is connected but no chain of wallets has a node.
pub(super) fn no_chain(call: &Call) -> ErrorReply {
    let message = format!(
        "no node of a chain of sub-wallets is connected for {}",
        call.operation.route().path
    );
    ErrorReply::new(ErrorCode::UpstreamUnavailable, message)
        .detail("reason", crate::offering::NO_CHAIN)
        .retryable(false)
}

fn unavailable(error: &CustodyError) -> ErrorReply {
    match error {
        CustodyError::WalletsFull { .. } => {
            observe::wallet_refused(error.code());
            tracing::warn!(code = error.code(), %error, "a payer gets no wallet");
            let message = "this server makes no further sub-wallets; the payment was not used";
            return ErrorReply::new(ErrorCode::WalletsFull, message);
        }
        CustodyError::TooManyNewWallets {
            retry_after_seconds,
            ..
        } => {
            observe::wallet_refused(error.code());
            tracing::warn!(code = error.code(), %error, "a payer gets no wallet now");
            let message = "too many sub-wallets were made within an hour; the payment was not used";
            return ErrorReply::new(ErrorCode::RateLimited, message)
                .detail("reason", error.code())
                .retry_after(*retry_after_seconds);
        }
        _ => {}
    }
    tracing::warn!(code = error.code(), %error, "custody cannot answer");
    let reply = ErrorReply::new(ErrorCode::UpstreamUnavailable, "custody cannot answer")
        .detail("reason", error.code());
    match error {
        // Only the operator can repair a wallet's file.
        CustodyError::File { .. } => reply.retryable(false),
        _ => reply,
    }
}

fn time(unix: u64) -> Option<String> {
    let unix = i64::try_from(unix).ok()?;
    Timestamp::from_second(unix).ok().map(seconds)
}

#[cfg(test)]
mod tests;
