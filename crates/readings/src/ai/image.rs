//! Images of three formats, read as far as needed to identify them.
//!
//! Nothing is decoded. The structure is checked from the first byte to the last, which detects a
//! truncated file, and bytes hidden after the end of an image. Width and height come from the
//! header. The format comes from the bytes, and not from what their sender says, because a web
//! browser will treat them by the format.

mod jpeg;
mod png;
mod webp;

/// The most pixels of a side. It is more than any requested image has, and far below sizes that
/// make a reader allocate gigabytes.
pub const MAX_SIDE: u32 = 8192;

/// The fewest pixels of a side. A smaller image is a tracking pixel or an error picture.
pub const MIN_SIDE: u32 = 64;

/// A whole image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    bytes: Vec<u8>,
    format: ImageFormat,
    width: u32,
    height: u32,
}

/// The formats that are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// Portable Network Graphics.
    Png,
    /// JPEG.
    Jpeg,
    /// WebP.
    Webp,
}

/// Why bytes are not accepted as an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// The first bytes match no accepted format.
    #[error("neither png nor jpeg nor webp")]
    UnknownFormat,
    /// The bytes end before the image does.
    #[error("the {format} image is cut off")]
    CutOff {
        /// The format that the beginning matches.
        format: ImageFormat,
    },
    /// Further bytes follow the end of the image.
    #[error("{observed} bytes follow the end of the {format} image")]
    Trailing {
        /// The format that the beginning matches.
        format: ImageFormat,
        /// How many bytes follow.
        observed: usize,
    },
    /// The structure is not that of the format.
    #[error("the {format} image is not well formed: {what}")]
    Malformed {
        /// The format that the beginning matches.
        format: ImageFormat,
        /// The defect.
        what: &'static str,
    },
    /// A side is too short or too long.
    #[error(
        "the image has {width} x {height} pixels, each side must have {MIN_SIDE} to {MAX_SIDE}"
    )]
    Size {
        /// The width in pixels.
        width: u32,
        /// The height in pixels.
        height: u32,
    },
}

impl Image {
    /// Reads an image from the first byte to the last.
    ///
    /// # Errors
    ///
    /// An [`ImageError`].
    pub fn read(bytes: Vec<u8>) -> Result<Self, ImageError> {
        let format = ImageFormat::of(&bytes).ok_or(ImageError::UnknownFormat)?;
        let (width, height) = match format {
            ImageFormat::Png => png::size(&bytes),
            ImageFormat::Jpeg => jpeg::size(&bytes),
            ImageFormat::Webp => webp::size(&bytes),
        }?;
        let fits = |side: u32| (MIN_SIDE..=MAX_SIDE).contains(&side);
        if !fits(width) || !fits(height) {
            return Err(ImageError::Size { width, height });
        }
        Ok(Self {
            bytes,
            format,
            width,
            height,
        })
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> ImageFormat {
        self.format
    }

    /// The width in pixels.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The height in pixels.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The bytes, unchanged.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl ImageFormat {
    /// The format that the beginning of the bytes matches.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(png::SIGNATURE) {
            Some(Self::Png)
        } else if bytes.starts_with(&[0xff, 0xd8, 0xff]) {
            Some(Self::Jpeg)
        } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
            Some(Self::Webp)
        } else {
            None
        }
    }

    /// The media type.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
        }
    }
}

impl std::fmt::Display for ImageFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Webp => "webp",
        })
    }
}

/// A reader that takes bytes from the front.
struct Reader<'a> {
    rest: &'a [u8],
    format: ImageFormat,
}

impl<'a> Reader<'a> {
    fn new(rest: &'a [u8], format: ImageFormat) -> Self {
        Self { rest, format }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ImageError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(ImageError::CutOff {
                format: self.format,
            })?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ImageError> {
        let taken = self.take(N)?;
        <[u8; N]>::try_from(taken).map_err(|_| self.malformed("length"))
    }

    fn malformed(&self, what: &'static str) -> ImageError {
        ImageError::Malformed {
            format: self.format,
            what,
        }
    }

    /// Fails when bytes are left over.
    fn end(&self) -> Result<(), ImageError> {
        match self.rest.len() {
            0 => Ok(()),
            observed => Err(ImageError::Trailing {
                format: self.format,
                observed,
            }),
        }
    }
}

#[cfg(test)]
mod tests;
