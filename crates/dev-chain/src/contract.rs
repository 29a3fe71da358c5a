//! The contracts of `fixtures/contracts`: their code and the calls this crate makes itself.

use alloy_primitives::Bytes;
use alloy_sol_types::sol;
use serde_json::Value;

use crate::error::DevChainError;

sol! {
    /// What the builder and the direct reads use of a token.
    interface Token {
        function initialize(string name, string symbol, string version, address minter) external;
        function mint(address to, uint256 amount) external returns (bool);
        function balanceOf(address account) external view returns (uint256);
        function authorizationState(address authorizer, bytes32 nonce) external view returns (bool);
    }

    /// What the builder uses of a contract wallet.
    interface Wallet {
        function initialize(address owner) external;
    }
}

/// One of the compiled contracts that are part of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contract {
    /// The strict token.
    Eip3009Token,
    /// The token whose spent authorizations do not revert.
    LenientReuseToken,
    /// The EIP-1271 wallet.
    Eip1271Wallet,
}

impl Contract {
    fn name(self) -> &'static str {
        match self {
            Self::Eip3009Token => "Eip3009Token",
            Self::LenientReuseToken => "LenientReuseToken",
            Self::Eip1271Wallet => "Eip1271Wallet",
        }
    }

    fn artifact(self) -> &'static str {
        match self {
            Self::Eip3009Token => {
                include_str!("../../../fixtures/contracts/artifacts/Eip3009Token.json")
            }
            Self::LenientReuseToken => {
                include_str!("../../../fixtures/contracts/artifacts/LenientReuseToken.json")
            }
            Self::Eip1271Wallet => {
                include_str!("../../../fixtures/contracts/artifacts/Eip1271Wallet.json")
            }
        }
    }

    /// The code that stands at the contract's address.
    pub(crate) fn runtime_code(self) -> Result<Bytes, DevChainError> {
        let unreadable = |reason| DevChainError::Artifact {
            contract: self.name(),
            reason,
        };
        let artifact: Value =
            serde_json::from_str(self.artifact()).map_err(|_| unreadable("not JSON"))?;
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
        for contract in [
            Contract::Eip3009Token,
            Contract::LenientReuseToken,
            Contract::Eip1271Wallet,
        ] {
            assert!(
                contract.runtime_code().unwrap().len() > 500,
                "{}",
                contract.name()
            );
        }
    }
}
