//! The token contract of a coin.

use alloy_primitives::Address;
use readings::token::coin::Coin;
use route_catalog::{HOME_CHAIN, SECURITY_CHAINS};

/// The token contract of a coin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A contract on a chain whose contracts are scanned.
    Contract { chain_id: u64, address: Address },
    /// The coin is its own chain's coin, not a token.
    None,
    /// A contract on chains that are not scanned.
    Elsewhere,
    /// No source states it.
    Unknown,
}

impl Place {
    /// The contract on the home chain, or else on the first of the scanned chains.
    pub(super) fn of(coin: &Coin) -> Self {
        let Some(contracts) = &coin.contracts else {
            return Self::Unknown;
        };
        if contracts.is_empty() {
            return Self::None;
        }
        let on = |chain_id: u64| {
            let contract = coin.contract_on(chain_id)?;
            let address = contract.address.parse().ok()?;
            Some(Self::Contract { chain_id, address })
        };
        let scanned = SECURITY_CHAINS.iter().map(|chain| chain.id);
        std::iter::once(HOME_CHAIN.id)
            .chain(scanned)
            .find_map(on)
            .unwrap_or(Self::Elsewhere)
    }
}

#[cfg(test)]
mod tests {
    use readings::token::coin::{Contract, unpriced};

    use super::*;

    const ADDRESS: &str = "0x7777777777777777777777777777777777777777";

    fn place(contracts: Option<&[(Option<u64>, &str)]>) -> Place {
        let contract = |&(chain_id, address): &(Option<u64>, &str)| Contract {
            chain_id,
            platform: "somewhere".to_owned(),
            address: address.to_owned(),
        };
        let coin = Coin {
            contracts: contracts.map(|list| list.iter().map(contract).collect()),
            ..unpriced("id".to_owned(), "EXT".to_owned(), "Example".to_owned())
        };
        Place::of(&coin)
    }

    #[test]
    fn a_coin_of_its_own_chain_has_no_contract_and_an_unknown_one_may() {
        let at = |chain_id| Place::Contract {
            chain_id,
            address: ADDRESS.parse().unwrap(),
        };
        assert_eq!(place(Some(&[])), Place::None);
        assert_eq!(place(None), Place::Unknown);
        assert_eq!(
            place(Some(&[(
                None,
                "So11111111111111111111111111111111111111112"
            )])),
            Place::Elsewhere
        );
        assert_eq!(place(Some(&[(Some(59_144), ADDRESS)])), Place::Elsewhere);
        assert_eq!(
            place(Some(&[(Some(8453), ADDRESS), (Some(1), ADDRESS)])),
            at(1)
        );
        assert_eq!(
            place(Some(&[(Some(1), ADDRESS), (Some(196), ADDRESS)])),
            at(196)
        );
        assert_eq!(
            place(Some(&[(Some(1), "not an address")])),
            Place::Elsewhere
        );
    }
}
