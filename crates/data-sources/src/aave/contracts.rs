//! The interfaces of the contracts, and the readers of their results. A result of a wrong length or
//! with an absurd figure is `None`, never a zero.

use alloy_primitives::{Address, U256, address};
use alloy_sol_types::SolCall;

pub(super) const POOL: Address = address!("0xE3F3Caefdd7180F884c01E57f65Df979Af84f116");
pub(super) const DATA_PROVIDER: Address = address!("0x6C505C31714f14e8af2A03633EB2Cdfb4959138F");
pub(super) const ORACLE: Address = address!("0x91FC11136d5615575a0fC5981Ab5C0C54418E2C6");

/// Most decimals of a token. A larger number cannot be right.
const MAX_DECIMALS: u64 = 30;

alloy_sol_types::sol! {
    function getReserveConfigurationData(address asset) external view returns (uint256 decimals, uint256 ltv, uint256 liquidationThreshold, uint256 liquidationBonus, uint256 reserveFactor, bool usageAsCollateralEnabled, bool borrowingEnabled, bool stableBorrowRateEnabled, bool isActive, bool isFrozen);
    function getReserveData(address asset) external view returns (uint256 unbacked, uint256 accruedToTreasuryScaled, uint256 totalAToken, uint256 totalStableDebt, uint256 totalVariableDebt, uint256 liquidityRate, uint256 variableBorrowRate, uint256 stableBorrowRate, uint256 averageStableBorrowRate, uint256 liquidityIndex, uint256 variableBorrowIndex, uint40 lastUpdateTimestamp);
    function getPaused(address asset) external view returns (bool isPaused);
    function getAssetPrice(address asset) external view returns (uint256 price);
    function getUserReserveData(address asset, address user) external view returns (uint256 currentATokenBalance, uint256 currentStableDebt, uint256 currentVariableDebt, uint256 principalStableDebt, uint256 scaledVariableDebt, uint256 stableBorrowRate, uint256 liquidityRate, uint40 stableRateLastUpdated, bool usageAsCollateralEnabled);
    function getUserAccountData(address user) external view returns (uint256 totalCollateralBase, uint256 totalDebtBase, uint256 availableBorrowsBase, uint256 currentLiquidationThreshold, uint256 ltv, uint256 healthFactor);
}

/// How a reserve is set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Configuration {
    pub(super) decimals: u32,
    pub(super) active: bool,
    pub(super) frozen: bool,
    pub(super) paused: bool,
}

/// The liquidity and the rate of a reserve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reserve {
    pub(super) supplied: U256,
    pub(super) borrowed: U256,
    pub(super) liquidity_rate: U256,
    pub(super) borrow_rate: U256,
}

/// An account's position in a reserve.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserReserve {
    pub(super) supplied: U256,
    pub(super) borrowed: U256,
    /// Whether the supplied amount counts as collateral.
    pub(super) collateral: bool,
}

impl Configuration {
    /// Reads a token's configuration. A token that is no reserve has zero decimals and is not
    /// active. The paused flag is read from another call.
    pub(super) fn read(returned: &[u8]) -> Option<Self> {
        let read = getReserveConfigurationDataCall::abi_decode_returns(returned).ok()?;
        let decimals = u64::try_from(read.decimals)
            .ok()
            .filter(|digits| *digits <= MAX_DECIMALS)?;
        Some(Self {
            decimals: u32::try_from(decimals).ok()?,
            active: read.isActive,
            frozen: read.isFrozen,
            paused: false,
        })
    }
}

impl Reserve {
    pub(super) fn read(returned: &[u8]) -> Option<Self> {
        let read = getReserveDataCall::abi_decode_returns(returned).ok()?;
        Some(Self {
            supplied: read.totalAToken,
            borrowed: read.totalVariableDebt.checked_add(read.totalStableDebt)?,
            liquidity_rate: read.liquidityRate,
            borrow_rate: read.variableBorrowRate,
        })
    }
}

impl UserReserve {
    /// Whether the account neither has nor owes anything in the reserve.
    pub(super) fn is_empty(&self) -> bool {
        self.supplied.is_zero() && self.borrowed.is_zero()
    }

    pub(super) fn read(returned: &[u8]) -> Option<Self> {
        let read = getUserReserveDataCall::abi_decode_returns(returned).ok()?;
        Some(Self {
            supplied: read.currentATokenBalance,
            borrowed: read
                .currentVariableDebt
                .checked_add(read.currentStableDebt)?,
            collateral: read.usageAsCollateralEnabled,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Selectors of the deployed contracts' interfaces, computed elsewhere.
    #[test]
    fn selectors_are_those_of_the_interfaces() {
        assert_eq!(getReserveDataCall::SELECTOR, [0x35, 0xea, 0x6a, 0x75]);
        assert_eq!(getUserAccountDataCall::SELECTOR, [0xbf, 0x92, 0x85, 0x7c]);
        assert_eq!(getUserReserveDataCall::SELECTOR, [0x28, 0xdd, 0x2d, 0x01]);
        assert_eq!(
            getReserveConfigurationDataCall::SELECTOR,
            [0x3e, 0x15, 0x01, 0x41]
        );
        assert_eq!(getAssetPriceCall::SELECTOR, [0xb3, 0x59, 0x6f, 0x07]);
    }

    #[test]
    fn short_and_absurd_answers_are_none() {
        assert!(Reserve::read(&[0; 32]).is_none());
        assert!(UserReserve::read(&[]).is_none());
        assert!(Configuration::read(&[0xff; 320]).is_none());
        assert!(
            Configuration::read(&[0; 320]).is_some_and(|read| read.decimals == 0 && !read.active)
        );
    }
}
