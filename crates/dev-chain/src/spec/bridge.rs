//! Both sides of the burn-and-mint bridge on one chain.

use alloy_primitives::{Address, U256};

use super::{BurnMessengerSpec, Placement};
use crate::{
    abi::{MessageTransmitter, TokenMessenger, TokenMinter},
    accounts::MINTER,
    cctp,
    contract::Contract,
};

/// Token messenger, message transmitter and token minter of CCTP V2 under their addresses (module
/// [`cctp`]), for one token. [`MINTER`] owns all three. The token has to name
/// [`cctp::TOKEN_MINTER`] as a minter
/// ([`DevChainBuilder::token_with_minters`](crate::DevChainBuilder::token_with_minters)).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CctpSpec {
    /// The CCTP domain of this chain.
    pub local_domain: u32,
    /// The token that is burned and minted here.
    pub token: Address,
    /// The most that one burn may take, in atomic units.
    pub burn_limit: U256,
    /// Every other domain, and the token that corresponds to ours there.
    pub remotes: Vec<(u32, Address)>,
    /// The account whose signature makes a message valid.
    pub attester: Address,
    /// The recipient of the fees of fast transfers.
    pub fee_recipient: Address,
}

/// The most that one burn may take: 10,000,000 USDC.
const BURN_LIMIT: u64 = 10_000_000_000_000;

impl CctpSpec {
    /// The bridge of a stage, connected with every other domain.
    pub(crate) fn of(local_domain: u32, token: Address) -> Self {
        let others = cctp::DOMAINS.into_iter();
        Self {
            local_domain,
            token,
            burn_limit: U256::from(BURN_LIMIT),
            remotes: others
                .filter(|(domain, _)| *domain != local_domain)
                .collect(),
            attester: cctp::ATTESTER.address,
            fee_recipient: cctp::FEE_RECIPIENT,
        }
    }

    pub(crate) fn placements(self) -> [Placement; 3] {
        let owner = MINTER.address;
        let messenger = Placement::from(BurnMessengerSpec {
            address: cctp::TOKEN_MESSENGER,
            local_domain: self.local_domain,
            remote_domains: self.remotes.iter().map(|(domain, _)| *domain).collect(),
            burn_limits: vec![(self.token, self.burn_limit)],
        })
        .then(&TokenMessenger::connectCall {
            transmitter: cctp::MESSAGE_TRANSMITTER,
            minter: cctp::TOKEN_MINTER,
            feeRecipient: self.fee_recipient,
        });
        let transmitter = Placement::new(cctp::MESSAGE_TRANSMITTER, Contract::MessageTransmitter)
            .then(&MessageTransmitter::initializeCall {
                owner,
                domain: self.local_domain,
                attester: self.attester,
            });
        let minter = Placement::new(cctp::TOKEN_MINTER, Contract::TokenMinter).then(
            &TokenMinter::initializeCall {
                owner,
                tokenMessenger: cctp::TOKEN_MESSENGER,
            },
        );
        let minter = self.remotes.iter().fold(minter, |minter, (domain, token)| {
            minter.then(&TokenMinter::linkTokenPairCall {
                localToken: self.token,
                remoteDomain: *domain,
                remoteToken: token.into_word(),
            })
        });
        [messenger, transmitter, minter]
    }
}
