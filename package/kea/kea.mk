################################################################################
#
# kea
#
################################################################################

KEA_VERSION = 2.6.3
KEA_SITE = https://ftp.isc.org/isc/kea/$(KEA_VERSION)
KEA_LICENSE = MPL-2.0
KEA_LICENSE_FILES = COPYING
KEA_CPE_ID_VENDOR = isc
KEA_DEPENDENCIES = boost log4cplus openssl

# Boost's folder is the compiler's own: as --with-boost-include it would stand before those of C++, which then miss stdlib.h.
KEA_CONF_OPTS = \
	--disable-install-configurations \
	--disable-rpath \
	--with-boost-libs=-lboost_system \
	--with-log4cplus=$(STAGING_DIR)/usr \
	--with-openssl=$(STAGING_DIR)/usr

# What kea-dhcp4 and kea-dhcp6 are made of, in the order in which their parts need each other; the rest (DDNS, control agent, hooks, perfdhcp,
# scripts, manuals) is neither compiled nor installed.
KEA_LIBRARIES = exceptions util log cryptolink dns asiolink cc database hooks dhcp http config stats dhcp_ddns eval process dhcpsrv
KEA_FOLDERS = $(addprefix src/lib/,$(KEA_LIBRARIES)) src/bin/lfc src/bin/dhcp4 src/bin/dhcp6

define KEA_BUILD_CMDS
	$(foreach folder,$(KEA_FOLDERS),
		$(TARGET_MAKE_ENV) $(MAKE) -C $(@D)/$(folder)
	)
endef

# Programs and libraries; headers would be data.
define KEA_INSTALL_TARGET_CMDS
	$(foreach folder,$(KEA_FOLDERS),
		$(TARGET_MAKE_ENV) $(MAKE) -C $(@D)/$(folder) DESTDIR=$(TARGET_DIR) install-exec
	)
endef

# As Debian's package calls it: the agent asks for this name.
define KEA_USERS
	_kea -1 _kea -1 * - - - DHCP server
endef

$(eval $(autotools-package))
