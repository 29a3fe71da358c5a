//! Interfaces of the stand-ins that wallet actions call, with setters for their owner. Functions of
//! the deployed contracts have their deployed selectors. Functions that begin with `set` are ours,
//! and only [`MINTER`](crate::MINTER) may call them.
#![allow(
    missing_docs,
    clippy::too_many_arguments,
    reason = "generated from the interface"
)]

use alloy_sol_types::sol;

sol! {
    /// The pool of the lending market.
    #[derive(Debug)]
    interface AavePool {
        struct ReserveData {
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

        event Supply(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint16 indexed referralCode);
        event Withdraw(address indexed reserve, address indexed user, address indexed to, uint256 amount);

        function supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode) external;
        function withdraw(address asset, uint256 amount, address to) external returns (uint256);
        function getReserveData(address asset) external view returns (ReserveData memory);
        function getReserveNormalizedIncome(address asset) external view returns (uint256);
        function getReservesList() external view returns (address[] memory);
        function getUserAccountData(address user) external view returns (uint256 totalCollateralBase, uint256 totalDebtBase, uint256 availableBorrowsBase, uint256 currentLiquidationThreshold, uint256 ltv, uint256 healthFactor);

        function initialize(address owner, address oracle) external;
        function initReserve(address asset, address aToken, uint8 decimals, uint128 index, uint128 rate, uint256 supplyCap) external;
        function setActive(address asset, bool on) external;
        function setFrozen(address asset, bool on) external;
        function setPaused(address asset, bool on) external;
        function setSupplyCap(address asset, uint256 wholeTokens) external;
        function setRate(address asset, uint128 rate) external;
        function setNamedErrors(bool on) external;
        /// Takes liquidity out, to the owner; `giveBack` returns it.
        function lend(address asset, uint256 amount) external;
        function giveBack(address asset, uint256 amount) external;
    }

    /// The token of a position in the lending market.
    #[derive(Debug)]
    interface AaveToken {
        function initialize(string name, string symbol, uint8 decimals, address pool, address underlying) external;
        function balanceOf(address account) external view returns (uint256);
        function scaledBalanceOf(address account) external view returns (uint256);
        function totalSupply() external view returns (uint256);
        function UNDERLYING_ASSET_ADDRESS() external view returns (address);
    }

    /// The lending market's data about its reserves.
    #[derive(Debug)]
    interface AaveDataProvider {
        function initialize(address pool) external;
        function getReserveConfigurationData(address asset) external view returns (uint256 decimals, uint256 ltv, uint256 liquidationThreshold, uint256 liquidationBonus, uint256 reserveFactor, bool usageAsCollateralEnabled, bool borrowingEnabled, bool stableBorrowRateEnabled, bool isActive, bool isFrozen);
        function getReserveCaps(address asset) external view returns (uint256 borrowCap, uint256 supplyCap);
        function getPaused(address asset) external view returns (bool);
        function getReserveTokensAddresses(address asset) external view returns (address aToken, address stableDebt, address variableDebt);
        function getUserReserveData(address asset, address user) external view returns (uint256 currentATokenBalance, uint256 currentStableDebt, uint256 currentVariableDebt, uint256 principalStableDebt, uint256 scaledVariableDebt, uint256 stableBorrowRate, uint256 liquidityRate, uint40 stableRateLastUpdated, bool usageAsCollateralEnabled);
    }

    /// The prices of the lending market.
    #[derive(Debug)]
    interface AaveOracle {
        function initialize(address owner) external;
        function setAssetPrice(address asset, uint256 price) external;
        function getAssetPrice(address asset) external view returns (uint256);
    }

    /// An ERC-4626 vault.
    #[derive(Debug)]
    interface TokenVault {
        event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares);
        event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares);

        function asset() external view returns (address);
        function balanceOf(address account) external view returns (uint256);
        function totalAssets() external view returns (uint256);
        function totalSupply() external view returns (uint256);
        function convertToShares(uint256 assets) external view returns (uint256);
        function convertToAssets(uint256 shares) external view returns (uint256);
        function maxDeposit(address receiver) external view returns (uint256);
        function maxMint(address receiver) external view returns (uint256);
        function maxWithdraw(address owner) external view returns (uint256);
        function maxRedeem(address owner) external view returns (uint256);
        function previewDeposit(uint256 assets) external view returns (uint256);
        function previewMint(uint256 shares) external view returns (uint256);
        function previewWithdraw(uint256 assets) external view returns (uint256);
        function previewRedeem(uint256 shares) external view returns (uint256);
        function deposit(uint256 assets, address receiver) external returns (uint256 shares);
        function mint(uint256 shares, address receiver) external returns (uint256 assets);
        function withdraw(uint256 assets, address receiver, address owner) external returns (uint256 shares);
        function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets);

        function initialize(string name, string symbol, uint8 decimals, address asset, address owner) external;
        /// Basis points of the remaining amount after the fee.
        function setFees(uint256 onDeposit, uint256 onWithdrawal) external;
        /// Basis points by which previews promise too much.
        function setLie(uint256 basisPoints) external;
        /// Assets; zero for none.
        function setCap(uint256 assets) external;
        function setPaused(bool on) external;
    }

    /// The token messenger of the bridge.
    #[derive(Debug)]
    interface TokenMessenger {
        event DepositForBurn(address indexed burnToken, uint256 amount, address indexed depositor, bytes32 mintRecipient, uint32 destinationDomain, bytes32 destinationTokenMessenger, bytes32 destinationCaller, uint256 maxFee, uint32 indexed minFinalityThreshold, bytes hookData);
        event MintAndWithdraw(address indexed mintRecipient, uint256 amount, address indexed mintToken, uint256 feeCollected);

        function depositForBurn(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold) external;
        function connect(address transmitter, address minter, address feeRecipient) external;
    }

    /// The message transmitter of the bridge.
    #[derive(Debug)]
    interface MessageTransmitter {
        event MessageSent(bytes message);
        event MessageReceived(address indexed caller, uint32 sourceDomain, bytes32 indexed nonce, bytes32 sender, uint32 indexed finalityThresholdExecuted, bytes messageBody);

        function receiveMessage(bytes message, bytes attestation) external returns (bool success);
        function usedNonces(bytes32 nonce) external view returns (uint256);
        function localDomain() external view returns (uint32);
        function initialize(address owner, uint32 domain, address attester) external;
        function setAttester(address attester) external;
    }

    /// The minter of the bridge.
    #[derive(Debug)]
    interface TokenMinter {
        function initialize(address owner, address tokenMessenger) external;
        function linkTokenPair(address localToken, uint32 remoteDomain, bytes32 remoteToken) external;
        function getLocalToken(uint32 remoteDomain, bytes32 remoteToken) external view returns (address);
    }

    /// A token with several minters.
    #[derive(Debug)]
    interface MultiMinterToken {
        function configureMinter(address account, uint256 allowance) external returns (bool);
    }

    /// The contract that traders on OKX's DEX approve.
    #[derive(Debug)]
    interface TokenApprove {
        function initialize(address owner) external;
        function setAllowed(address router, bool isAllowed) external;
    }

    /// The router of OKX's DEX.
    #[derive(Debug)]
    interface DexRouter {
        event OrderRecord(address fromToken, address toToken, address sender, uint256 fromAmount, uint256 returnAmount);

        function initialize(address owner, address tokenApprove) external;
        /// `denominator` units of `tokenIn` buy `numerator` units of `tokenOut`.
        function setRate(address tokenIn, address tokenOut, uint256 numerator, uint256 denominator) external;
        /// Basis points by which the router pays too little, without a check of the least output.
        function setShortfall(uint256 basisPoints) external;
    }
}
