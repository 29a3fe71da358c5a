//! The router of OKX's DEX, and the contract that traders approve.

use alloy_primitives::Address;

use super::{Placement, Rate};
use crate::{
    abi::{DexRouter, TokenApprove},
    accounts::MINTER,
    contract::Contract,
};

/// A router that trades at fixed rates, and the approve proxy through which it takes tokens.
/// [`MINTER`] owns both. The router's inventory has to be minted to it
/// ([`DevChainBuilder::holder`](crate::DevChainBuilder::holder)).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DexRouterSpec {
    /// The address of the router.
    pub router: Address,
    /// The address of the approve proxy.
    pub approve_proxy: Address,
    /// Its prices, each in one direction.
    pub rates: Vec<Rate>,
}

impl DexRouterSpec {
    pub(crate) fn placements(self) -> [Placement; 2] {
        let owner = MINTER.address;
        let proxy = Placement::new(self.approve_proxy, Contract::TokenApprove)
            .then(&TokenApprove::initializeCall { owner })
            .then(&TokenApprove::setAllowedCall {
                router: self.router,
                isAllowed: true,
            });
        let router =
            Placement::new(self.router, Contract::DexRouter).then(&DexRouter::initializeCall {
                owner,
                tokenApprove: self.approve_proxy,
            });
        let router = self.rates.into_iter().fold(router, |router, rate| {
            router.then(&DexRouter::setRateCall {
                tokenIn: rate.token_in,
                tokenOut: rate.token_out,
                numerator: rate.numerator,
                denominator: rate.denominator,
            })
        });
        [proxy, router]
    }
}
