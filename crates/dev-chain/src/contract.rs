//! The contracts of `fixtures/contracts`: their compiled code, and the functions that this crate
//! calls itself. The README there describes their behaviour.

use alloy_primitives::Bytes;
use alloy_sol_types::sol;
use serde_json::Value;

use crate::error::DevChainError;

sol! {
    /// The functions of a token with authorizations that the builder and the direct reads use.
    interface Token {
        function initialize(string name, string symbol, string version, address minter) external;
        function mint(address to, uint256 amount) external returns (bool);
        function approve(address spender, uint256 value) external returns (bool);
        function balanceOf(address account) external view returns (uint256);
        function allowance(address owner, address spender) external view returns (uint256);
        function authorizationState(address authorizer, bytes32 nonce) external view returns (bool);
    }

    /// The functions of a token without authorizations that the builder uses.
    interface Erc20 {
        function initialize(string name, string symbol, uint8 decimals, address minter) external;
    }

    /// The functions of a contract with an owner and no further set-up that the builder uses.
    interface Owned {
        function initialize(address owner) external;
    }

    /// The functions of the router that the builder uses.
    interface Router {
        function setAllowed(address target, bytes4 selector, bool isAllowed) external;
    }

    /// The functions of the exchange that the builder uses.
    interface Exchange {
        function setRate(address tokenIn, address tokenOut, uint256 numerator, uint256 denominator) external;
    }

    /// The functions of the bridge that the builder uses.
    interface Messenger {
        function initialize(address owner, uint32 domain) external;
        function setRemoteTokenMessenger(uint32 domain, bytes32 tokenMessenger) external;
        function setMaxBurnAmountPerMessage(address token, uint256 limit) external;
    }

    /// The function of the rollup's fees that sets them.
    interface GasPriceOracle {
        function setFees(uint256 feeForData, uint256 feeOfOperator) external;
    }

    /// The functions of a multi-signature account that the builder uses.
    interface Safe {
        function initialize(address[] owners, uint256 threshold, string version) external;
    }
}

/// One of this crate's compiled contracts, described in `fixtures/contracts/README.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contract {
    /// The token with EIP-3009 authorizations that reverts on a spent one.
    Eip3009Token,
    /// A token with EIP-3009 authorizations that returns from a spent one.
    LenientReuseToken,
    /// A token with ERC-20 only.
    PlainToken,
    /// A token that returns nothing and changes an allowance only through zero.
    UsdtLikeToken,
    /// The EIP-1271 wallet with one owner.
    Eip1271Wallet,
    /// A multi-signature account with read functions only.
    SafeAccount,
    /// The aggregator's router.
    AggregatorRouter,
    /// The aggregator's fee forwarder.
    FeeForwarder,
    /// A venue with fixed rates.
    FixedRateExchange,
    /// The token messenger of the burn-and-mint bridge; alone, the bridge's source side.
    BurnMessenger,
    /// Many calls in one.
    Multicall3,
    /// The token with EIP-3009 authorizations and several minters.
    MultiMinterToken,
    /// The message transmitter of the burn-and-mint bridge.
    MessageTransmitter,
    /// The token minter of the burn-and-mint bridge.
    TokenMinter,
    /// The router of OKX's DEX.
    DexRouter,
    /// The contract that traders on OKX's DEX approve.
    TokenApprove,
    /// The pool of a lending market with the interface of Aave v3.
    AavePool,
    /// The token of a position in the lending market.
    AaveToken,
    /// The lending market's data about its reserves.
    AaveDataProvider,
    /// The prices of the lending market.
    AaveOracle,
    /// An ERC-4626 vault, with switchable defects.
    TokenVault,
    /// The fees that a rollup of the OP stack adds to each transaction.
    GasPriceOracle,
}

impl Contract {
    /// Every contract.
    pub const ALL: [Self; 22] = [
        Self::Eip3009Token,
        Self::LenientReuseToken,
        Self::PlainToken,
        Self::UsdtLikeToken,
        Self::Eip1271Wallet,
        Self::SafeAccount,
        Self::AggregatorRouter,
        Self::FeeForwarder,
        Self::FixedRateExchange,
        Self::BurnMessenger,
        Self::Multicall3,
        Self::MultiMinterToken,
        Self::MessageTransmitter,
        Self::TokenMinter,
        Self::DexRouter,
        Self::TokenApprove,
        Self::AavePool,
        Self::AaveToken,
        Self::AaveDataProvider,
        Self::AaveOracle,
        Self::TokenVault,
        Self::GasPriceOracle,
    ];

    fn name_and_artifact(self) -> (&'static str, &'static str) {
        macro_rules! of {
            ($name:literal) => {
                (
                    $name,
                    include_str!(concat!(
                        "../../../fixtures/contracts/artifacts/",
                        $name,
                        ".json"
                    )),
                )
            };
        }
        match self {
            Self::Eip3009Token => of!("Eip3009Token"),
            Self::LenientReuseToken => of!("LenientReuseToken"),
            Self::PlainToken => of!("PlainToken"),
            Self::UsdtLikeToken => of!("UsdtLikeToken"),
            Self::Eip1271Wallet => of!("Eip1271Wallet"),
            Self::SafeAccount => of!("SafeAccount"),
            Self::AggregatorRouter => of!("AggregatorRouter"),
            Self::FeeForwarder => of!("FeeForwarder"),
            Self::FixedRateExchange => of!("FixedRateExchange"),
            Self::BurnMessenger => of!("BurnMessenger"),
            Self::Multicall3 => of!("Multicall3"),
            Self::MultiMinterToken => of!("MultiMinterToken"),
            Self::MessageTransmitter => of!("MessageTransmitter"),
            Self::TokenMinter => of!("TokenMinter"),
            Self::DexRouter => of!("DexRouter"),
            Self::TokenApprove => of!("TokenApprove"),
            Self::AavePool => of!("AavePool"),
            Self::AaveToken => of!("AaveToken"),
            Self::AaveDataProvider => of!("AaveDataProvider"),
            Self::AaveOracle => of!("AaveOracle"),
            Self::TokenVault => of!("TokenVault"),
            Self::GasPriceOracle => of!("GasPriceOracle"),
        }
    }

    /// The code at the contract's address.
    ///
    /// # Errors
    ///
    /// No caller can cause an error.
    pub fn runtime_code(self) -> Result<Bytes, DevChainError> {
        let (contract, artifact) = self.name_and_artifact();
        let unreadable = |reason| DevChainError::Artifact { contract, reason };
        let artifact: Value = serde_json::from_str(artifact).map_err(|_| unreadable("not JSON"))?;
        artifact
            .get("deployedBytecode")
            .and_then(Value::as_str)
            .ok_or_else(|| unreadable("no deployedBytecode"))?
            .parse()
            .map_err(|_| unreadable("deployedBytecode is not hex"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_artifact_has_code() {
        for contract in Contract::ALL {
            assert!(contract.runtime_code().unwrap().len() > 300, "{contract:?}");
        }
    }
}
