//! What can go wrong.

use broadsweep::wgpu;

use crate::scene::Body;

/// Why there is no frame.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The library says why.
    #[error(transparent)]
    Search(#[from] broadsweep::Error),
    /// The bodies of a scene do not fit a buffer of the device.
    #[error("{box_count} boxes: the device has buffers for {most}")]
    TooManyBoxes {
        /// The boxes of the scene.
        box_count: u32,
        /// As many as fit.
        most: u64,
    },
}

impl Error {
    /// Checks that the bodies of a scene fit a buffer of the device.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`].
    pub fn check(device: &wgpu::Device, box_count: u32) -> Result<(), Self> {
        let limits = device.limits();
        let bytes = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        let most = bytes / size_of::<Body>() as u64;
        if u64::from(box_count) > most { Err(Self::TooManyBoxes { box_count, most }) } else { Ok(()) }
    }

    /// Returns whether the device is lost.
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::Search(broadsweep::Error::DeviceLost { .. }))
    }
}
