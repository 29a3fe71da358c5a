//! Attacks on sub-wallets: wallets and actions for nothing, and a wallet's file in another place.

use dev_chain::{USDG, USDT0};
use serde_json::{Value, json};

use crate::SiegeError;
use crate::field::Attacker;
use crate::payment::Wallet;

type Acted = Result<Attacker, SiegeError>;

/// The route that makes wallets.
const SUB_WALLET: &str = "/sub-wallet";

/// Asks for the wallet of an account that has nothing, or not enough.
pub(super) async fn strangers(mut attacker: Attacker) -> Acted {
    let poor = attacker.field.poor.clone();
    let wallet = match attacker.chance.pick(&poor) {
        Some(poor) if attacker.chance.percent(20) => poor.clone(),
        _ => Wallet::draw(&mut attacker.chance)?,
    };
    if let Some(payment) = attacker.signed(&wallet, SUB_WALLET).await? {
        attacker.pay(&payment, SUB_WALLET).await;
    }
    Ok(attacker)
}

/// Orders actions for an account that has no wallet and no money.
pub(super) async fn walletless(mut attacker: Attacker) -> Acted {
    let wallet = Wallet::draw(&mut attacker.chance)?;
    let (target, body) = action(&mut attacker);
    attacker.order(&wallet, target, &body).await?;
    Ok(attacker)
}

/// Orders actions for a wallet that is empty, with ever new payments. Each is refused after it was
/// planned.
pub(super) async fn without_funds(mut attacker: Attacker) -> Acted {
    let rich = attacker.field.rich.clone();
    let Some(wallet) = attacker.chance.pick(&rich) else {
        return Ok(attacker);
    };
    if attacker.chance.percent(15) {
        if let Some(payment) = attacker.signed(wallet, SUB_WALLET).await? {
            attacker.pay(&payment, SUB_WALLET).await;
        }
        return Ok(attacker);
    }
    let (target, body) = action(&mut attacker);
    attacker.order(wallet, target, &body).await?;
    Ok(attacker)
}

/// Uses the wallet whose file was exchanged for the one of an owner: asks for its address, and
/// withdraws what the owner has.
pub(super) async fn robber(mut attacker: Attacker) -> Acted {
    let robber = attacker.field.robber.clone();
    if attacker.chance.percent(40) {
        if let Some(payment) = attacker.signed(&robber, SUB_WALLET).await? {
            attacker.pay(&payment, SUB_WALLET).await;
        }
        return Ok(attacker);
    }
    let body = json!({ "chain_id": "196", "token": USDG.to_string(), "amount": "5" });
    attacker.order(&robber, "/auto-withdraw", &body).await?;
    Ok(attacker)
}

/// Draws an action.
fn action(attacker: &mut Attacker) -> (&'static str, Value) {
    let amount = attacker.chance.below(900).saturating_add(1).to_string();
    let token = USDG.to_string();
    match attacker.chance.below(3) {
        0 => (
            "/auto-withdraw",
            json!({ "chain_id": "196", "token": token, "amount": amount }),
        ),
        1 => (
            "/auto-swap",
            json!({
                "chain_id": "196", "from_token": token, "to_token": USDT0.to_string(),
                "amount": amount, "slippage": "1",
            }),
        ),
        _ => (
            "/auto-defi-invest",
            json!({ "chain_id": "196", "protocol": "aave-v3", "asset": "USDG", "amount": amount }),
        ),
    }
}
