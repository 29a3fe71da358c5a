//! The contract functions that wallet actions call or read.

use alloy_sol_types::sol;

pub(crate) mod token {
    use super::sol;

    sol! {
        // ERC-20.
        function approve(address spender, uint256 amount) external returns (bool);
        function transfer(address to, uint256 amount) external returns (bool);
        // EIP-3009, with the signature in three parts.
        function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external;
        // EIP-3009.
        function authorizationState(address authorizer, bytes32 nonce) external view returns (bool);
        // EIP-712. Most tokens with EIP-3009 have these functions.
        function name() external view returns (string);
        function version() external view returns (string);
        function symbol() external view returns (string);
        function DOMAIN_SEPARATOR() external view returns (bytes32);
    }
}

/// EIP-3009 with the signature as one byte string. Contract wallets need this form.
pub(crate) mod token_bytes {
    use super::sol;

    sol! {
        function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature) external;
    }
}

/// What contract wallets say about those who control them.
pub(crate) mod owner {
    use super::sol;

    sol! {
        // Safe.
        function getOwners() external view returns (address[]);
        function getThreshold() external view returns (uint256);
        // ERC-173.
        function owner() external view returns (address);
    }
}

pub(crate) mod vault {
    use super::sol;

    sol! {
        // ERC-4626.
        function asset() external view returns (address);
        function balanceOf(address owner) external view returns (uint256);
        function decimals() external view returns (uint8);
        function convertToAssets(uint256 shares) external view returns (uint256);
        function maxDeposit(address receiver) external view returns (uint256);
        function maxWithdraw(address owner) external view returns (uint256);
        function maxRedeem(address owner) external view returns (uint256);
        function previewDeposit(uint256 assets) external view returns (uint256);
        function previewWithdraw(uint256 assets) external view returns (uint256);
        function previewRedeem(uint256 shares) external view returns (uint256);
        function deposit(uint256 assets, address receiver) external returns (uint256);
        function withdraw(uint256 assets, address receiver, address owner) external returns (uint256);
        function redeem(uint256 shares, address receiver, address owner) external returns (uint256);
    }
}

pub(crate) mod pool {
    use super::sol;

    sol! {
        /// A reserve as Aave v3 pools report it (`DataTypes.ReserveDataLegacy`).
        struct Reserve {
            uint256 configuration;
            uint128 liquidityIndex;
            uint128 currentLiquidityRate;
            uint128 variableBorrowIndex;
            uint128 currentVariableBorrowRate;
            uint128 currentStableBorrowRate;
            uint40 lastUpdateTimestamp;
            uint16 id;
            address aTokenAddress;
            address stableDebtTokenAddress;
            address variableDebtTokenAddress;
            address interestRateStrategyAddress;
            uint128 accruedToTreasury;
            uint128 unbacked;
            uint128 isolationModeTotalDebt;
        }

        function getReserveData(address asset) external view returns (Reserve);
        function totalSupply() external view returns (uint256);
        function supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode) external;
        function withdraw(address asset, uint256 amount, address to) external returns (uint256);
    }
}

pub(crate) mod transmitter {
    use super::sol;

    sol! {
        function receiveMessage(bytes message, bytes attestation) external returns (bool);
        function usedNonces(bytes32 nonce) external view returns (uint256);
    }
}
