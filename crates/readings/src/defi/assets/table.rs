//! The table of reviewed tokens.

use super::{Asset, Class};

const fn of(chain_id: u64, address: &'static str, symbol: &'static str, class: Class) -> Asset {
    Asset {
        chain_id,
        address,
        symbol,
        class,
    }
}

/// Every reviewed token that earns nothing while an account holds it.
pub static ASSETS: &[Asset] = &[
    of(
        1,
        "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
        "USDC",
        Class::Stable,
    ),
    of(
        1,
        "0xdAC17F958D2ee523a2206206994597C13D831ec7",
        "USDT",
        Class::Stable,
    ),
    of(
        1,
        "0x6B175474E89094C44Da98b954EedeAC495271d0F",
        "DAI",
        Class::Stable,
    ),
    of(
        1,
        "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
        "WETH",
        Class::Eth,
    ),
    of(
        1,
        "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599",
        "WBTC",
        Class::Btc,
    ),
    of(
        1,
        "0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf",
        "cbBTC",
        Class::Btc,
    ),
    of(
        10,
        "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85",
        "USDC",
        Class::Stable,
    ),
    of(
        10,
        "0x94b008aA00579c1307B0EF2c499aD98a8ce58e58",
        "USDT",
        Class::Stable,
    ),
    of(
        10,
        "0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1",
        "DAI",
        Class::Stable,
    ),
    of(
        10,
        "0x4200000000000000000000000000000000000006",
        "WETH",
        Class::Eth,
    ),
    of(
        10,
        "0x68f180fcCe6836688e9084f035309E29Bf0A2095",
        "WBTC",
        Class::Btc,
    ),
    of(
        56,
        "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d",
        "USDC",
        Class::Stable,
    ),
    of(
        56,
        "0x55d398326f99059fF775485246999027B3197955",
        "USDT",
        Class::Stable,
    ),
    of(
        56,
        "0x2170Ed0880ac9A755fd29B2688956BD959F933F8",
        "ETH",
        Class::Eth,
    ),
    of(
        56,
        "0x7130d2A12B9BCbFAe4f2634d864A1Ee1Ce3Ead9c",
        "BTCB",
        Class::Btc,
    ),
    of(
        137,
        "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
        "USDC",
        Class::Stable,
    ),
    of(
        137,
        "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174",
        "USDC.e",
        Class::Stable,
    ),
    of(
        137,
        "0xc2132D05D31c914a87C6611C10748AEb04B58e8F",
        "USDT",
        Class::Stable,
    ),
    of(
        137,
        "0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063",
        "DAI",
        Class::Stable,
    ),
    of(
        137,
        "0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619",
        "WETH",
        Class::Eth,
    ),
    of(
        137,
        "0x1BFD67037B42Cf73acF2047067bd4F2C47D9BfD6",
        "WBTC",
        Class::Btc,
    ),
    of(
        196,
        "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
        "USD₮0",
        Class::Stable,
    ),
    of(
        196,
        "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8",
        "USDG",
        Class::Stable,
    ),
    of(
        196,
        "0xB6CEceAB302E2E4948951eE7843FC24E92933061",
        "USDC",
        Class::Stable,
    ),
    of(
        196,
        "0x74b7F16337b8972027F6196A17a631aC6dE26d22",
        "USDC",
        Class::Stable,
    ),
    of(
        196,
        "0x1E4a5963aBFD975d8c9021ce480b42188849D41d",
        "USDT",
        Class::Stable,
    ),
    of(
        196,
        "0xDe6539018B095353A40753Dc54C91C68c9487D4E",
        "GHO",
        Class::Stable,
    ),
    of(
        196,
        "0xE7B000003A45145decf8a28FC755aD5eC5EA025A",
        "xETH",
        Class::Eth,
    ),
    of(
        196,
        "0xb7C00000bcDEeF966b20B3D884B98E64d2b06b4f",
        "xBTC",
        Class::Btc,
    ),
    of(
        324,
        "0x1d17CBcF0D6D143135aE902365D2E5e2A16538D4",
        "USDC",
        Class::Stable,
    ),
    of(
        324,
        "0x5AEa5775959fBC2557Cc8789bC1bf90A239D9a91",
        "WETH",
        Class::Eth,
    ),
    of(
        8453,
        "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "USDC",
        Class::Stable,
    ),
    of(
        8453,
        "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb",
        "DAI",
        Class::Stable,
    ),
    of(
        8453,
        "0x4200000000000000000000000000000000000006",
        "WETH",
        Class::Eth,
    ),
    of(
        8453,
        "0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf",
        "cbBTC",
        Class::Btc,
    ),
    of(
        42161,
        "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
        "USDC",
        Class::Stable,
    ),
    of(
        42161,
        "0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8",
        "USDC.e",
        Class::Stable,
    ),
    of(
        42161,
        "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9",
        "USDT",
        Class::Stable,
    ),
    of(
        42161,
        "0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1",
        "DAI",
        Class::Stable,
    ),
    of(
        42161,
        "0x82aF49447D8a07e3bd95BD0d56f35241523fBab1",
        "WETH",
        Class::Eth,
    ),
    of(
        42161,
        "0x2f2a2543B76A4166549F7aaB2e75Bef0aefC5B0f",
        "WBTC",
        Class::Btc,
    ),
    of(
        43114,
        "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E",
        "USDC",
        Class::Stable,
    ),
    of(
        43114,
        "0x9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7",
        "USDT",
        Class::Stable,
    ),
    of(
        43114,
        "0x49D5c2BdFfac6CE2BFdB6640F4F80f226bc10bAB",
        "WETH.e",
        Class::Eth,
    ),
    of(
        43114,
        "0x152b9d0FdC40C096757F570A51E494bd4b943E50",
        "BTC.b",
        Class::Btc,
    ),
    of(
        59144,
        "0x176211869cA2b568f2A7D4EE941E073a821EE1ff",
        "USDC",
        Class::Stable,
    ),
    of(
        59144,
        "0xe5D7C2a44FfDDf6b295A15c148167daaAf5Cf34f",
        "WETH",
        Class::Eth,
    ),
    of(
        534_352,
        "0x06eFdBFf2a14a7c8E15944D1F4A48F9F95F663A4",
        "USDC",
        Class::Stable,
    ),
    of(
        534_352,
        "0x5300000000000000000000000000000000000004",
        "WETH",
        Class::Eth,
    ),
];

/// Tokens in which a reward can be sold at once, in addition to [`ASSETS`].
pub(super) static LIQUID_REWARDS: &[(u64, &str)] = &[
    // COMP, AAVE, CRV, CVX, LDO, UNI.
    (1, "0xc00e94Cb662C3520282E6f5717214004A7f26888"),
    (1, "0x7Fc66500c84A76Ad7e9c93437bFc5Ac33E2DDaE9"),
    (1, "0xD533a949740bb3306d119CC777fa900bA034cd52"),
    (1, "0x4e3FBD56CD56c3e72c1403e103b45Db9da5B9D2B"),
    (1, "0x5A98FcBEA516Cf06857215779Fd812CA3beF1B32"),
    (1, "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984"),
    // OP.
    (10, "0x4200000000000000000000000000000000000042"),
    // WBNB, CAKE.
    (56, "0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c"),
    (56, "0x0E09FaBB73Bd3Ade0a17ECC321fD13a19e81cE82"),
    // WPOL.
    (137, "0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270"),
    // WOKB.
    (196, "0xe538905cf8410324e03A5A23C1c177a474D59b2b"),
    // AERO.
    (8453, "0x940181a94A35A4569E4529A3CDfB74e38FD98631"),
    // ARB.
    (42161, "0x912CE59144191C1204E64559FE8253a0e49E6548"),
    // WAVAX.
    (43114, "0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7"),
];
