//! A transfer of native USDC between chains.

use alloy_primitives::Address;
use calldata_checks::bridge::{calldata::Burn, chains::CHAINS};
use serde_json::Value;

use super::{UNREADABLE, Words, data, describe_approvals, integer, target, text};
use crate::units;

pub(super) fn describe(plan: &Value, words: &mut Words) {
    let chain_id = integer(plan, "/payload/chain_id");
    let burn = data(plan, 2).and_then(|data| Burn::decode(&data).ok());
    let Some(burn) = burn else {
        words.add(
            "does",
            format!("{UNREADABLE}: the third step is not a burn"),
        );
        return;
    };
    words.add(
        "gives",
        units::amount(chain_id, burn.burn_token, burn.amount),
    );
    let destination = CHAINS
        .iter()
        .find(|chain| chain.domain == burn.destination_domain);
    let least = burn.amount.checked_sub(burn.max_fee);
    let gets = destination.zip(least).map_or_else(
        || UNREADABLE.to_owned(),
        |(chain, least)| {
            let amount = units::amount(Some(chain.chain_id), chain.usdc, least);
            format!("{amount} on {}", units::chain(Some(chain.chain_id)))
        },
    );
    words.add("gets at least", gets);
    let recipient = Address::from_word(burn.mint_recipient);
    let account = text(plan, "/account_binding/address").parse::<Address>();
    let whose = if account == Ok(recipient) {
        "the same address there"
    } else {
        "NOT the account's address"
    };
    words.add("to", format!("{recipient} ({whose})"));
    let fee = units::amount(chain_id, burn.burn_token, burn.max_fee);
    words.add(
        "fee",
        format!("at most {fee} to the bridge's operator, deducted at the mint"),
    );
    words.add("fee version", text(plan, "/fee_attribution/version"));
    let contract = target(plan, 2).map_or_else(|| UNREADABLE.to_owned(), |to| to.to_string());
    words.add("contract", contract);
    describe_approvals(plan, chain_id, words);
}
