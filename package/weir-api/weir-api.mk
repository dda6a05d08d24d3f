################################################################################
#
# weir-api
#
################################################################################

WEIR_API_VERSION = 0.1.0
WEIR_API_SITE = $(WEIR_ROOT)/api
WEIR_API_SITE_METHOD = local
WEIR_API_SETUP_TYPE = setuptools
WEIR_API_LICENSE = Apache-2.0, MIT (common-passwords.txt)
WEIR_API_LICENSE_FILES = LICENSE LICENSES/MIT.txt

# The agent runs as root, the API as a user of its own that owns the database. Who signs in by SSH is cli, whose shell runs what sshd's files say and
# nothing else (docs/adr/0236).
define WEIR_API_USERS
	weir -1 weir -1 * /var/lib/weir - - Weir API
	dhcp-relay -1 dhcp-relay -1 * - - - DHCP relay
	cli -1 cli -1 * - /bin/sh - Command line by SSH
endef

define WEIR_API_INSTALL_INIT_SYSTEMD
	$(foreach unit,$(wildcard $(WEIR_API_PKGDIR)/*.service $(WEIR_API_PKGDIR)/*.socket),
		$(INSTALL) -D -m 0644 $(unit) \
			$(TARGET_DIR)/usr/lib/systemd/system/$(notdir $(unit))
	)
	$(INSTALL) -D -m 0644 $(WEIR_API_PKGDIR)/weir-api.tmpfiles \
		$(TARGET_DIR)/usr/lib/tmpfiles.d/weir-api.conf
endef

# The texts of the licences stand beside the sources, not below them.
define WEIR_API_COPY_LICENSES
	cp -a $(WEIR_ROOT)/LICENSE $(WEIR_ROOT)/LICENSES $(@D)/
endef
WEIR_API_POST_RSYNC_HOOKS += WEIR_API_COPY_LICENSES

$(eval $(python-package))
