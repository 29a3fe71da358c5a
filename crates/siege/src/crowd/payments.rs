//! Attacks with payments.

use alloy_primitives::U256;
use tokio::task::JoinSet;

use super::CHEAP;
use crate::SiegeError;
use crate::chance::Chance;
use crate::field::Attacker;
use crate::payment::{Signed, Wallet};
use crate::world::BURNING_WALLETS;

type Acted = Result<Attacker, SiegeError>;

/// Makes a payment in the name of an account with money, signed by another key.
async fn in_the_name_of_another(attacker: &mut Attacker) -> Result<Option<Signed>, SiegeError> {
    let forger = Wallet::draw(&mut attacker.chance)?;
    let rich = attacker.field.rich.clone();
    let Some(victim) = attacker.chance.pick(&rich) else {
        return Ok(None);
    };
    let field = attacker.field.clone();
    let Some(offer) = field.offer(&mut attacker.client, CHEAP).await else {
        return Ok(None);
    };
    let seconds = crate::buyer::VALID_SECONDS;
    let victim = victim.address();
    let forged = forger.sign_for(victim, &offer, CHEAP, seconds, &mut attacker.chance)?;
    Ok(Some(forged))
}

pub(super) async fn forged(mut attacker: Attacker) -> Acted {
    if let Some(forged) = in_the_name_of_another(&mut attacker).await? {
        attacker.pay(&forged, CHEAP).await;
    }
    Ok(attacker)
}

/// Pays with a forged signature in a form that only contract wallets write, so that only a chain
/// can judge it.
pub(super) async fn forged_long(mut attacker: Attacker) -> Acted {
    if let Some(forged) = in_the_name_of_another(&mut attacker).await? {
        let bytes: [u8; 66] = attacker.chance.bytes();
        attacker.pay(&forged.under(&bytes), CHEAP).await;
    }
    Ok(attacker)
}

/// Pays from a wallet that accepts every signature and burns the settler's gas. Half of the
/// signatures are as long as an account's, and half are longer.
pub(super) async fn burning(mut attacker: Attacker) -> Acted {
    let forger = Wallet::draw(&mut attacker.chance)?;
    let field = attacker.field.clone();
    let (Some(wallet), Some(offer)) = (
        attacker
            .chance
            .pick(&BURNING_WALLETS)
            .map(|(address, _)| *address),
        field.offer(&mut attacker.client, CHEAP).await,
    ) else {
        return Ok(attacker);
    };
    let seconds = crate::buyer::VALID_SECONDS;
    let payment = forger.sign_for(wallet, &offer, CHEAP, seconds, &mut attacker.chance)?;
    let payment = match attacker.chance.percent(50) {
        true => payment.under(&attacker.chance.bytes::<130>()),
        false => payment,
    };
    attacker.pay(&payment, CHEAP).await;
    Ok(attacker)
}

/// Pays with a promise of a broker (`aggr_deferred`) that the broker does not know. Does nothing
/// when the server does not offer the scheme.
pub(super) async fn deferred(mut attacker: Attacker) -> Acted {
    let rich = attacker.field.rich.clone();
    let field = attacker.field.clone();
    let (Some(wallet), Some(offer)) = (
        attacker.chance.pick(&rich),
        field.offer(&mut attacker.client, CHEAP).await,
    ) else {
        return Ok(attacker);
    };
    let offer = offer.deferred();
    if !offer.is_empty() {
        let seconds = crate::buyer::VALID_SECONDS;
        let payment = wallet.sign(&offer, CHEAP, seconds, &mut attacker.chance)?;
        attacker.pay(&payment, CHEAP).await;
    }
    Ok(attacker)
}

/// Pays with a good signature of a key whose account has delegated (EIP-7702) to code that refuses
/// it.
pub(super) async fn refusing(mut attacker: Attacker) -> Acted {
    let refusing = attacker.field.refusing.clone();
    let Some(wallet) = attacker.chance.pick(&refusing) else {
        return Ok(attacker);
    };
    if let Some(payment) = attacker.signed(wallet, CHEAP).await? {
        attacker.pay(&payment, CHEAP).await;
    }
    Ok(attacker)
}

/// Pays with a good signature of an account that has never had anything.
pub(super) async fn throw_away(mut attacker: Attacker) -> Acted {
    let wallet = Wallet::draw(&mut attacker.chance)?;
    if let Some(payment) = attacker.signed(&wallet, CHEAP).await? {
        attacker.pay(&payment, CHEAP).await;
    }
    Ok(attacker)
}

/// Sends the payment of another buyer with a request of the attacker's own.
pub(super) async fn elsewhere(mut attacker: Attacker) -> Acted {
    let field = attacker.field.clone();
    if let Some(payment) = field.somebodys(&mut attacker.chance) {
        let targets = [CHEAP, "/swap", "/all-tokens?limit=9", "/price?token=0x00"];
        let targets = targets.map(str::to_owned);
        if let Some(target) = attacker
            .chance
            .pick(&targets)
            .filter(|target| **target != payment.target)
        {
            attacker.pay(&payment, target).await;
        }
    }
    Ok(attacker)
}

/// Sends the payment of another buyer with the same request at the same time. It must buy nothing
/// more.
pub(super) async fn same(mut attacker: Attacker) -> Acted {
    let field = attacker.field.clone();
    if let Some(payment) = field.somebodys(&mut attacker.chance) {
        attacker.pay(&payment, &payment.target).await;
    }
    Ok(attacker)
}

/// Sends a late copy of a payment that its buyer has replaced. It must buy nothing.
pub(super) async fn replaced(mut attacker: Attacker) -> Acted {
    let field = attacker.field.clone();
    if let Some(payment) = field.somebodys_replaced(&mut attacker.chance) {
        attacker.pay(&payment, &payment.target).await;
    }
    Ok(attacker)
}

/// Sends the authorization of another buyer under another signature.
pub(super) async fn resigned(mut attacker: Attacker) -> Acted {
    let field = attacker.field.clone();
    if let Some(payment) = field.somebodys(&mut attacker.chance) {
        let long: [u8; 66] = attacker.chance.bytes();
        let key: [u8; 65] = attacker.chance.bytes();
        let other = match attacker.chance.percent(50) {
            true => payment.under(&long),
            false => payment.under(&key),
        };
        attacker.pay(&other, &payment.target).await;
    }
    Ok(attacker)
}

/// Sends the same header fifty times at the same time.
pub(super) async fn fifty(mut attacker: Attacker) -> Acted {
    let rich = attacker.field.rich.clone();
    let Some(wallet) = attacker.chance.pick(&rich) else {
        return Ok(attacker);
    };
    if let Some(payment) = attacker.signed(wallet, CHEAP).await? {
        at_once(&attacker, std::iter::repeat_n(payment, 50)).await;
    }
    Ok(attacker)
}

/// Sends thirty payments at the same time from an account that can pay for one.
pub(super) async fn poor(mut attacker: Attacker) -> Acted {
    let poor = attacker.field.poor.clone();
    let Some(wallet) = attacker.chance.pick(&poor) else {
        return Ok(attacker);
    };
    let mut payments = Vec::new();
    for _ in 0..30 {
        payments.extend(attacker.signed(wallet, CHEAP).await?);
    }
    at_once(&attacker, payments).await;
    Ok(attacker)
}

async fn at_once(attacker: &Attacker, payments: impl IntoIterator<Item = Signed>) {
    let mut sent = JoinSet::new();
    for (number, payment) in (0_u64..).zip(payments) {
        let mut one = Attacker::new(&attacker.field, attacker.name, number);
        sent.spawn(async move {
            let target = payment.target.clone();
            one.pay(&payment, &target).await;
        });
    }
    while sent.join_next().await.is_some() {}
}

/// Sends different payments with the same payment identifier.
pub(super) async fn identifiers(mut attacker: Attacker) -> Acted {
    let rich = attacker.field.rich.clone();
    let Some(wallet) = attacker.chance.pick(&rich) else {
        return Ok(attacker);
    };
    let id = format!("siege-identifier-{}", attacker.chance.below(4));
    if let Some(payment) = attacker.signed(wallet, CHEAP).await? {
        attacker.pay(&payment.named(&id), CHEAP).await;
    }
    Ok(attacker)
}

/// Draws an address that nobody uses.
pub(super) fn new_token(chance: &mut Chance) -> String {
    let number = U256::from_be_bytes(chance.bytes::<32>());
    let digits = format!("{number:064x}");
    format!("0x{}", digits.get(24..).unwrap_or_default())
}
