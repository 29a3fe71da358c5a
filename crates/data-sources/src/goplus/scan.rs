//! One token of `GET /api/v1/token_security/{chain}`: its row becomes a scan. A member that is
//! missing or has another form is unknown, never safe.

use std::collections::BTreeMap;

use alloy_primitives::Address;
use readings::{
    Decimal, Figure,
    security::{Check, Holder, HolderKind, Liquidity, Ownership, Pool, Scan, TokenText},
};
use serde_json::{Map, Value};

use super::TOKEN_SECURITY;
use crate::text::clean;

const MAX_NAME_CHARS: usize = 64;
const MAX_SYMBOL_CHARS: usize = 32;

/// Members that are `"1"` when the risk is present.
const FLAGS: [(&str, Check); 18] = [
    ("is_honeypot", Check::Honeypot),
    ("is_airdrop_scam", Check::AirdropScam),
    ("cannot_buy", Check::CannotBuy),
    ("cannot_sell_all", Check::CannotSellAll),
    ("hidden_owner", Check::HiddenOwner),
    ("can_take_back_ownership", Check::OwnershipReclaimable),
    ("owner_change_balance", Check::OwnerChangesBalances),
    ("selfdestruct", Check::SelfDestruct),
    ("personal_slippage_modifiable", Check::PersonalTax),
    ("is_mintable", Check::Mintable),
    ("is_blacklisted", Check::Blacklist),
    ("transfer_pausable", Check::TransferPausable),
    ("slippage_modifiable", Check::TaxModifiable),
    ("trading_cooldown", Check::TradingCooldown),
    ("anti_whale_modifiable", Check::TradeLimitModifiable),
    ("external_call", Check::ExternalCall),
    ("is_proxy", Check::Proxy),
    ("is_whitelisted", Check::Whitelist),
];

type Row = Map<String, Value>;

/// Reads a row. Members of another form than documented are unknown. An impossible tax or share
/// makes the scan incomplete, because other members may then be wrong too.
pub(super) fn read(row: &Row, finished: bool) -> Scan {
    let mut odd = false;
    let mut pct = |key: &str| match fraction(row.get(key)) {
        Ok(pct) => pct,
        Err(Odd) => {
            odd = true;
            None
        }
    };
    let buy_tax_pct = pct("buy_tax");
    let sell_tax_pct = pct("sell_tax");
    let owner_pct = pct("owner_percent");
    let creator_pct = pct("creator_percent");
    let owner = owner(row);
    Scan {
        source: TOKEN_SECURITY,
        complete: finished && !odd,
        rating: None,
        findings: findings(row, owner),
        buy_tax_pct,
        sell_tax_pct,
        token: TokenText {
            name: text(row, "token_name", MAX_NAME_CHARS),
            symbol: text(row, "token_symbol", MAX_SYMBOL_CHARS),
            total_supply: figure(row.get("total_supply"))
                .filter(|supply| supply.get() >= Decimal::ZERO),
        },
        ownership: Ownership {
            owner,
            owner_pct,
            creator: address(row.get("creator_address")).filter(|creator| !creator.is_zero()),
        },
        liquidity: Liquidity {
            in_dex: flag(row.get("is_in_dex")),
            pools: rows(row, "dex").filter_map(pool).collect(),
            lp_locked_pct: lp_locked(row),
        },
        holder_count: row.get("holder_count").and_then(count),
        holders: holders(row),
        creator_pct,
    }
}

fn findings(row: &Row, owner: Option<Address>) -> BTreeMap<Check, bool> {
    let mut findings: BTreeMap<Check, bool> = FLAGS
        .into_iter()
        .filter_map(|(key, check)| Some((check, flag(row.get(key))?)))
        .collect();
    let mut add = |check, found: Option<bool>| {
        if let Some(found) = found {
            findings.insert(check, found);
        }
    };
    add(Check::TradeLimit, flag(row.get("is_anti_whale")));
    add(
        Check::NotOpenSource,
        flag(row.get("is_open_source")).map(|open| !open),
    );
    add(
        Check::NotRenounced,
        owner.map(|owner| !HolderKind::is_burn(owner)),
    );
    // This member is a number of honeypots, not a flag.
    add(
        Check::HoneypotCreator,
        row.get("honeypot_with_same_creator")
            .and_then(count)
            .map(|made| made > 0),
    );
    let imitates = row
        .get("fake_token")
        .and_then(|fake| fake.get("value"))
        .and_then(count);
    let genuine = flag(row.get("is_true_token"));
    add(
        Check::Counterfeit,
        match (imitates, genuine) {
            (Some(1..), _) | (_, Some(false)) => Some(true),
            (_, Some(true)) => Some(false),
            (_, None) => None,
        },
    );
    findings
}

/// The owner. GoPlus writes a renounced ownership as a present and empty member, which is read as
/// the zero address.
fn owner(row: &Row) -> Option<Address> {
    match row.get("owner_address")? {
        Value::String(text) if text.is_empty() => Some(Address::ZERO),
        value => address(Some(value)),
    }
}

fn pool(row: &Value) -> Option<Pool> {
    Some(Pool {
        exchange: text(row.as_object()?, "name", MAX_SYMBOL_CHARS)?,
        address: address(row.get("pair"))?,
        liquidity_usd: figure(row.get("liquidity")).filter(|usd| usd.get() >= Decimal::ZERO),
    })
}

/// The holders. The list is empty when one share is impossible: then the unit differs from the
/// documented one, and the other shares are wrong too.
fn holders(row: &Row) -> Vec<Holder> {
    let holder = |row: &Value| {
        let address = address(row.get("address")).ok_or(Odd)?;
        let share_pct = fraction(row.get("percent"))?.ok_or(Odd)?;
        let label = row.get("tag").and_then(Value::as_str).unwrap_or_default();
        let labelled = HolderKind::of_label(label, is_one(row.get("is_contract")));
        let locked = is_one(row.get("is_locked")).then_some(HolderKind::Locker);
        let kind = labelled.or(locked);
        Ok(Holder {
            address,
            share_pct,
            kind,
        })
    };
    rows(row, "holders")
        .map(holder)
        .collect::<Result<_, Odd>>()
        .unwrap_or_default()
}

/// Share of the liquidity that is locked or burned, in percent.
fn lp_locked(row: &Row) -> Option<Figure> {
    let mut listed = rows(row, "lp_holders").peekable();
    listed.peek()?;
    let locked = listed.try_fold(Decimal::ZERO, |sum, row| {
        let share = fraction(row.get("percent")).ok()??.get();
        let burned = address(row.get("address")).is_some_and(HolderKind::is_burn);
        let locked = burned || is_one(row.get("is_locked"));
        if locked {
            sum.checked_add(share)
        } else {
            Some(sum)
        }
    })?;
    Some(Figure(locked.min(Decimal::ONE_HUNDRED)))
}

fn rows<'a>(row: &'a Row, key: &str) -> impl Iterator<Item = &'a Value> {
    let rows = row.get(key).and_then(Value::as_array);
    rows.into_iter().flatten()
}

/// An impossible figure.
struct Odd;

/// A fraction of one, in percent; `None` when it is not stated.
fn fraction(value: Option<&Value>) -> Result<Option<Figure>, Odd> {
    let Some(value) = value.filter(|value| !value.is_null() && value.as_str() != Some("")) else {
        return Ok(None);
    };
    let fraction = figure(Some(value)).ok_or(Odd)?.get();
    if !(Decimal::ZERO..=Decimal::ONE).contains(&fraction) {
        return Err(Odd);
    }
    let pct = fraction.checked_mul(Decimal::ONE_HUNDRED).ok_or(Odd)?;
    Ok(Some(Figure(pct)))
}

/// Reads `"0"` and `"1"`, and the same in other types: a yes must never be lost for its form. Any
/// other value is unknown.
fn flag(value: Option<&Value>) -> Option<bool> {
    match value? {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text == "0" => Some(false),
        Value::String(text) if text == "1" => Some(true),
        Value::Number(number) if number.as_u64() == Some(0) => Some(false),
        Value::Number(number) if number.as_u64() == Some(1) => Some(true),
        _ => None,
    }
}

fn is_one(value: Option<&Value>) -> bool {
    flag(value) == Some(true)
}

fn count(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}

fn figure(value: Option<&Value>) -> Option<Figure> {
    match value? {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

fn text(row: &Row, key: &str, max_chars: usize) -> Option<String> {
    let text = clean(row.get(key)?.as_str()?, max_chars);
    (!text.is_empty()).then_some(text)
}

fn address(value: Option<&Value>) -> Option<Address> {
    exact::parse_hex_array(value?.as_str()?).map(Address::new)
}

#[cfg(test)]
mod tests;
