################################################################################
#
# weir-datapath
#
################################################################################

WEIR_DATAPATH_VERSION = 0.1.0
WEIR_DATAPATH_SITE = $(WEIR_ROOT)/datapath
WEIR_DATAPATH_SITE_METHOD = local
WEIR_DATAPATH_LICENSE = GPL-2.0-only (eBPF programs), Apache-2.0 (loader)
WEIR_DATAPATH_LICENSE_FILES = LICENSE LICENSES/GPL-2.0-only.txt
WEIR_DATAPATH_DEPENDENCIES = host-bpftool libbpf

# eBPF bytecode does not depend on the processor, so the machine's own clang serves.
WEIR_DATAPATH_MACHINE_CLANG = $(call qstrip,$(BR2_PACKAGE_WEIR_DATAPATH_CLANG))
WEIR_DATAPATH_DEPENDENCIES += $(if $(WEIR_DATAPATH_MACHINE_CLANG),,host-clang)

WEIR_DATAPATH_MAKE_OPTS = \
	BUILD=$(@D)/build \
	CLANG=$(or $(WEIR_DATAPATH_MACHINE_CLANG),$(HOST_DIR)/bin/clang) \
	BPFTOOL=$(HOST_DIR)/sbin/bpftool \
	SYSROOT_INCLUDE="-I$(STAGING_DIR)/usr/include -ffile-prefix-map=$(STAGING_DIR)=sysroot" \
	CC="$(TARGET_CC)" \
	CFLAGS="$(TARGET_CFLAGS)" \
	LDFLAGS="$(TARGET_LDFLAGS)"

define WEIR_DATAPATH_BUILD_CMDS
	$(TARGET_MAKE_ENV) $(MAKE) -C $(@D) $(WEIR_DATAPATH_MAKE_OPTS)
endef

define WEIR_DATAPATH_INSTALL_TARGET_CMDS
	$(TARGET_MAKE_ENV) $(MAKE) -C $(@D) $(WEIR_DATAPATH_MAKE_OPTS) \
		DESTDIR=$(TARGET_DIR) install
endef

# The texts of the licences stand beside the sources, not below them.
define WEIR_DATAPATH_COPY_LICENSES
	cp -a $(WEIR_ROOT)/LICENSE $(WEIR_ROOT)/LICENSES $(@D)/
endef
WEIR_DATAPATH_POST_RSYNC_HOOKS += WEIR_DATAPATH_COPY_LICENSES

$(eval $(generic-package))
